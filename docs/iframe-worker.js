// Browsers start no worker from a file: there the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) =>
        this.dispatchEvent(new MessageEvent("message", { data }));
      const script = this.inside.document.createElement("script");
      this.isReady = new Promise((done) => (script.onload = done));
      script.src = url;
      this.inside.document.head.append(script);
    }
    postMessage(data) {
      const { MessageEvent } = this.inside;
      this.isReady.then(() =>
        this.inside.dispatchEvent(new MessageEvent("message", { data })),
      );
    }
  };
}
