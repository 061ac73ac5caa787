"""The interface against its own description: no request leads to a 500."""

import hypothesis
import pytest
import schemathesis
from schemathesis import checks

from tests.app.conftest import Server, make_project


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    path = make_project(tmp_path_factory.mktemp("schema") / "small.likewise")
    running = Server(path)
    yield running
    running.stop()


def headers(server):
    """The headers of a browser that was let in."""
    pairs = (f"{name}={value}" for name, value in server.client.cookies.items())
    return {"cookie": "; ".join(pairs), "origin": server.origin}


@pytest.mark.slow
def test_no_request_leads_to_a_500(server):
    """Whatever is sent, good or bad, the reply is one that the description allows."""
    description = schemathesis.openapi.from_url(
        f"{server.base}/api/openapi.json", headers=headers(server)
    )
    operations = [result.ok() for result in description.get_all_operations()]
    n_refused = 0
    for operation in operations:
        for mode in (
            schemathesis.GenerationMode.POSITIVE,
            schemathesis.GenerationMode.NEGATIVE,
        ):
            cases = operation.as_strategy(generation_mode=mode)

            @hypothesis.settings(
                max_examples=10,
                derandomize=True,
                database=None,
                suppress_health_check=list(hypothesis.HealthCheck),
            )
            @hypothesis.given(case=cases)
            def holds(case):
                case.call_and_validate(
                    headers=headers(server),
                    checks=[
                        checks.not_a_server_error,
                        checks.status_code_conformance,
                        checks.response_schema_conformance,
                    ],
                )

            try:
                holds()
            except hypothesis.errors.Unsatisfiable:
                # An operation that takes nothing cannot be given anything wrong.
                assert mode is schemathesis.GenerationMode.NEGATIVE
                n_refused += 1

    assert n_refused < len(operations)
    assert len(operations) >= 19
