// Keys for the question and drawing of the map. Every page works without this script.
"use strict";

const KEYS = {
  s: "same", ArrowRight: "same", a: "same", y: "same", 1: "same",
  d: "different", ArrowLeft: "different", x: "different", n: "different", 0: "different",
  " ": "unsure", u: "unsure", 2: "unsure",
  z: "undo", Backspace: "undo", f: "flag", w: "why", "?": "help",
};

async function call(method, address, body) {
  const reply = await fetch(address, {
    method,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const type = reply.headers.get("content-type") || "";
  const said = type.includes("json") ? await reply.json() : await reply.text();
  if (!reply.ok) {
    const error = new Error(said.error || said);
    error.status = reply.status;
    throw error;
  }
  return said;
}

function startQuestion(box) {
  const said = document.getElementById("said");
  const alert = document.getElementById("alert");
  const progress = document.getElementById("progress");
  const help = document.getElementById("help");
  let isBusy = false;
  let isWhyShown = new URLSearchParams(location.search).get("why") === "true";
  let shownAt = performance.now();
  let later = 0;

  const pair = () => box.querySelector("[data-question]");
  const number = () => Number(pair().dataset.question);

  async function show() {
    box.innerHTML = await call("GET", "fragments/question" + (isWhyShown ? "?why=true" : ""));
    if (pair()) pair().classList.add("fresh");
    shownAt = performance.now();
    document.getElementById("ask").focus({ preventScroll: true });
  }

  async function showProgress() {
    progress.innerHTML = await call("GET", "fragments/progress");
  }

  // The estimate is computed in the background: look once more when it is done.
  function showProgressSoon() {
    clearTimeout(later);
    showProgress().catch(() => {});
    later = setTimeout(() => showProgress().catch(() => {}), 1500);
  }

  async function work(step, words) {
    if (isBusy) return;
    isBusy = true;
    box.setAttribute("aria-busy", "true");
    try {
      await step();
      alert.hidden = true;
      said.textContent = words;
    } catch (error) {
      if (error.status === 409) {
        await show().catch(() => {});
      } else {
        alert.textContent = error.status === undefined
          ? "likewise does not reply. Is it still running in the terminal?"
          : error.message;
        alert.hidden = false;
      }
    } finally {
      isBusy = false;
      box.removeAttribute("aria-busy");
    }
  }

  const acts = {
    undo: () => work(async () => {
      await call("POST", "api/undo");
      await show();
      showProgressSoon();
    }, "Taken back. The question is open again."),
    flag: () => pair() && work(async () => {
      const button = box.querySelector("[data-act=flag]");
      const flagged = button.value === "true";
      await call("PUT", `api/questions/${number()}/flag`, { flagged });
      await show();
    }, "Changed the flag."),
    why: () => pair() && work(async () => {
      isWhyShown = !isWhyShown;
      await show();
    }, isWhyShown ? "Hidden." : "Shown below the buttons."),
    help: () => help.open ? help.close() : help.showModal(),
  };
  for (const word of ["same", "different", "unsure"]) {
    acts[word] = () => pair() && work(async () => {
      const seconds = (performance.now() - shownAt) / 1000;
      await call("POST", "api/answers", { question: number(), answer: word, seconds });
      await show();
      showProgressSoon();
    }, `Saved: ${word}.`);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("input, textarea, select, audio")) return;
    const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act || (help.open && act !== "help")) return;
    // Space and Enter on a button that has the focus press that button.
    if (event.key === " " && event.target.closest("button, a")) return;
    event.preventDefault();
    acts[act]();
  });
  box.addEventListener("click", (event) => {
    const target = event.target.closest("[data-act], .answers button");
    if (!target) return;
    event.preventDefault();
    acts[target.dataset.act || target.value]();
  });
  showProgressSoon();
}

// The largest groups have a colour each; more colours could not be told apart.
const COLOURS = ["#2b8a7e", "#d0652f", "#4a6fd0", "#b0458f", "#8a8a1c", "#6a4bc4", "#2c8fbf", "#c23b4b"];

async function startMap(box) {
  const canvas = document.getElementById("map");
  const tip = document.getElementById("tip");
  const pen = canvas.getContext("2d");
  const data = await call("GET", "api/map");
  const hasPictures = box.dataset.kind === "picture";
  const pictures = new Map();
  let share = 1; // 0 before learning, 1 after
  let view = { x: 0, y: 0, zoom: 1 };
  let size = { width: 0, height: 0 };

  const scale = () => 0.46 * Math.min(size.width, size.height) * view.zoom;
  function place(k) {
    const [a, b] = data.before[k];
    const [c, d] = data.after[k];
    const x = a + (c - a) * share;
    const y = b + (d - b) * share;
    return [size.width / 2 + (x - view.x) * scale(), size.height / 2 - (y - view.y) * scale()];
  }

  function thumbnail(k) {
    if (!pictures.has(k)) {
      const image = new Image();
      image.onload = () => requestDraw();
      image.src = `api/items/${k}/thumbnail?v=${box.dataset.version}`;
      pictures.set(k, image);
    }
    return pictures.get(k);
  }

  let isWanted = false;
  function requestDraw() {
    if (isWanted) return;
    isWanted = true;
    requestAnimationFrame(() => { isWanted = false; draw(); });
  }

  function draw() {
    const ratio = devicePixelRatio || 1;
    size = { width: canvas.clientWidth, height: canvas.clientHeight };
    if (canvas.width !== Math.round(size.width * ratio) || canvas.height !== Math.round(size.height * ratio)) {
      canvas.width = Math.round(size.width * ratio);
      canvas.height = Math.round(size.height * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, size.width, size.height);
    const soft = getComputedStyle(document.body).getPropertyValue("--soft");
    const seen = [];
    for (let k = 0; k < data.after.length; k++) {
      const [x, y] = place(k);
      if (x > -30 && y > -30 && x < size.width + 30 && y < size.height + 30) seen.push([k, x, y]);
    }
    // Pictures where there is room for one, dots for the rest; nearer, more find room.
    const side = size.width < 600 ? 26 : 34;
    const taken = new Map(); // by cells of the size of a picture
    const hasRoom = (x, y) => {
      const [row, column] = [Math.floor(y / side), Math.floor(x / side)];
      for (let r = row - 1; r <= row + 1; r++) {
        for (let c = column - 1; c <= column + 1; c++) {
          const other = taken.get(`${r} ${c}`);
          if (other && Math.abs(other[0] - x) < side && Math.abs(other[1] - y) < side) return false;
        }
      }
      taken.set(`${row} ${column}`, [x, y]);
      return true;
    };
    const radius = Math.max(1.5, Math.min(5, 90 / Math.sqrt(data.after.length + 1) * Math.sqrt(view.zoom)));
    const framed = [];
    for (const [k, x, y] of seen) {
      const image = hasPictures && hasRoom(x, y) ? thumbnail(k) : null;
      if (image && image.complete && image.naturalWidth) framed.push([k, x, y, image]);
      else dot(k, x, y, radius, soft);
    }
    for (const [k, x, y, image] of framed) {
      const fit = side / Math.max(image.naturalWidth, image.naturalHeight);
      const [w, h] = [image.naturalWidth * fit, image.naturalHeight * fit];
      pen.drawImage(image, x - w / 2, y - h / 2, w, h);
      const colour = colourOf(k);
      if (colour) {
        pen.strokeStyle = colour;
        pen.lineWidth = 2.5;
        pen.strokeRect(x - w / 2, y - h / 2, w, h);
      }
    }
  }

  function colourOf(k) {
    const group = data.groups[k];
    return group >= 0 && group < COLOURS.length ? COLOURS[group] : null;
  }

  function dot(k, x, y, radius, soft) {
    const colour = colourOf(k);
    pen.globalAlpha = colour ? 1 : 0.5;
    pen.fillStyle = colour || soft;
    pen.beginPath();
    pen.arc(x, y, colour ? radius * 1.6 : radius, 0, 7);
    pen.fill();
    pen.globalAlpha = 1;
  }

  function nearest(x, y) {
    let best = -1;
    let least = 24 * 24;
    for (let k = 0; k < data.after.length; k++) {
      const [a, b] = place(k);
      const squared = (a - x) ** 2 + (b - y) ** 2;
      if (squared < least) [best, least] = [k, squared];
    }
    return best;
  }

  function zoomAt(factor, x, y) {
    const zoom = Math.max(0.5, Math.min(60, view.zoom * factor));
    const before = scale();
    const [px, py] = [(x - size.width / 2) / before + view.x, (size.height / 2 - y) / before + view.y];
    view.zoom = zoom;
    view.x = px - (x - size.width / 2) / scale();
    view.y = py - (size.height / 2 - y) / scale();
    requestDraw();
  }

  let wanted = -1;
  const names = new Map();
  async function hover(x, y) {
    const k = nearest(x, y);
    wanted = k;
    canvas.style.cursor = k < 0 ? "grab" : "pointer";
    if (k < 0) { tip.hidden = true; return; }
    if (!names.has(k)) names.set(k, (await call("GET", `api/items/${k}`)));
    if (wanted !== k) return;
    const item = names.get(k);
    tip.replaceChildren();
    if (item.thumbnail) {
      const image = document.createElement("img");
      image.src = item.thumbnail;
      image.alt = "";
      tip.append(image);
    }
    const words = item.text || item.fields.slice(0, 4).map((field) => `${field.name}: ${field.value}`).join(", ");
    tip.append(words ? `${item.name}. ${words}`.slice(0, 200) : item.name);
    tip.hidden = false;
    const [a, b] = place(k);
    tip.style.left = `${Math.max(4, Math.min(a + 14, size.width - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(b + 14, size.height - tip.offsetHeight - 8))}px`;
  }

  const fingers = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
    canvas.setPointerCapture(event.pointerId);
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const old = fingers.get(event.pointerId);
    if (!old) { hover(event.offsetX, event.offsetY).catch(() => {}); return; }
    const now = [event.offsetX, event.offsetY];
    if (fingers.size === 2) {
      const [id] = [...fingers.keys()].filter((key) => key !== event.pointerId);
      const other = fingers.get(id);
      const gap = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      zoomAt(gap(now) / gap(old), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else {
      view.x -= (now[0] - old[0]) / scale();
      view.y += (now[1] - old[1]) / scale();
      requestDraw();
    }
    moved += Math.abs(now[0] - old[0]) + Math.abs(now[1] - old[1]);
    fingers.set(event.pointerId, now);
    tip.hidden = true;
  });
  const lift = (event) => fingers.delete(event.pointerId);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerup", (event) => {
    lift(event);
    if (moved > 6) return;
    const k = nearest(event.offsetX, event.offsetY);
    if (k < 0) return;
    if (event.pointerType === "mouse") location.href = `./neighbours?item=${k}`;
    else hover(event.offsetX, event.offsetY).catch(() => {});
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoomAt(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  }, { passive: false });

  const middle = () => [size.width / 2, size.height / 2];
  const showAll = () => { view = { x: 0, y: 0, zoom: 1 }; requestDraw(); };
  const zooms = { in: () => zoomAt(1.5, ...middle()), out: () => zoomAt(1 / 1.5, ...middle()), all: showAll };
  for (const button of box.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", zooms[button.dataset.zoom]);
  }
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  canvas.addEventListener("keydown", (event) => {
    if (moves[event.key]) {
      view.x += moves[event.key][0] * 40 / scale();
      view.y += moves[event.key][1] * 40 / scale();
      requestDraw();
    } else if (event.key === "+" || event.key === "=") zooms.in();
    else if (event.key === "-") zooms.out();
    else return;
    event.preventDefault();
  });

  function slide(goal) {
    const start = share;
    const began = performance.now();
    const length = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : 700;
    (function step() {
      const t = Math.min(1, (performance.now() - began) / length);
      share = start + (goal - start) * (t * t * (3 - 2 * t));
      draw();
      if (t < 1) requestAnimationFrame(step);
    })();
  }
  for (const button of document.querySelectorAll("[data-map]")) {
    button.addEventListener("click", () => {
      for (const other of document.querySelectorAll("[data-map]")) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      slide(button.dataset.map === "after" ? 1 : 0);
    });
  }
  new ResizeObserver(requestDraw).observe(canvas);
  draw();
  box.dataset.ready = "true";
}

// Groups or items that were chosen: how many, and whether that is enough to say something.
function startChoosing(form) {
  const bar = document.querySelector(`[data-choosing="${form.id}"]`);
  const count = bar.querySelector("[data-count]");
  const what = form.id === "same" ? ["group", "groups"] : ["item", "items"];
  function update() {
    const n = document.querySelectorAll(`input[type=checkbox][form="${form.id}"]:checked`).length;
    bar.classList.toggle("none", n === 0);
    bar.classList.toggle("some", n >= Number(bar.dataset.least));
    count.textContent = n ? `${n} ${what[n === 1 ? 0 : 1]} chosen.` : "";
    for (const button of bar.querySelectorAll("button")) button.disabled = n < Number(bar.dataset.least);
  }
  document.addEventListener("change", update);
  addEventListener("pageshow", update);
  update();
}

const START = { question: startQuestion, map: startMap, choosing: startChoosing };
for (const box of document.querySelectorAll("[data-page]")) START[box.dataset.page](box);
