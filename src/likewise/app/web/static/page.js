// Keys for the question and drawing of the map. Every page works without this script.
"use strict";
document.documentElement.classList.add("js");

const KEYS = {
  s: "same", ArrowRight: "same", a: "same", y: "same", 1: "same",
  d: "different", ArrowLeft: "different", x: "different", n: "different", 0: "different",
  " ": "unsure", u: "unsure", 2: "unsure",
  z: "undo", Backspace: "undo", f: "flag", w: "why", e: "closer", "?": "help",
};

// Sounds: a button for each in lists; on the question a line that moves, both in turn.
const playable = () => [...document.querySelectorAll(".pair .sound audio")];
function stopSounds() {
  for (const audio of document.querySelectorAll("audio")) { audio.pause(); audio.onended = null; }
}
function playBoth() {
  const [first, second] = playable();
  const isPlaying = playable().some((audio) => !audio.paused);
  stopSounds();
  if (isPlaying || !first) return;
  first.currentTime = 0;
  second.currentTime = 0;
  first.onended = () => { first.onended = null; second.play().catch(() => {}); };
  first.play().catch(() => {});
}
function followSound(event) {
  const audio = event.target;
  const box = audio.closest && audio.closest(".sound");
  if (!box) return;
  const line = box.querySelector(".played");
  box.classList.toggle("playing", !audio.paused);
  if (line && audio.duration) {
    line.classList.add("on");
    line.style.left = `${100 * audio.currentTime / audio.duration}%`;
  }
  const button = box.querySelector("button");
  if (button) button.textContent = audio.paused ? "▶ Play" : "■ Stop";
}
for (const name of ["play", "pause", "ended", "timeupdate"]) {
  document.addEventListener(name, followSound, true); // these do not bubble
}
for (const box of document.querySelectorAll(".sound.small")) {
  const audio = box.querySelector("audio");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "▶ Play";
  button.setAttribute("aria-label", `Play ${audio.getAttribute("aria-label")}`);
  button.addEventListener("click", (event) => {
    event.preventDefault();
    const wasPaused = audio.paused;
    stopSounds();
    if (wasPaused) audio.play().catch(() => {});
  });
  box.append(button);
}
document.addEventListener("click", (event) => {
  if (!event.target.classList.contains("wave")) return;
  const audio = event.target.closest(".sound").querySelector("audio");
  stopSounds();
  if (audio.duration) audio.currentTime = audio.duration * event.offsetX / event.target.clientWidth;
  audio.play().catch(() => {});
});

// The two pictures as large as the screen; looking closer at one looks as close at both.
function lookCloser(sources) {
  const dialog = document.getElementById("closer");
  const panes = dialog.querySelector(".closer");
  let zoom = 1;
  panes.replaceChildren(...sources.map((source) => {
    const pane = document.createElement("div");
    const image = document.createElement("img");
    image.src = source;
    image.alt = "";
    pane.append(image);
    return pane;
  }));
  function look(event, factor) {
    const pane = event.target.closest(".closer div");
    if (!pane) return;
    const frame = pane.getBoundingClientRect();
    const x = 100 * (event.clientX - frame.left) / frame.width;
    const y = 100 * (event.clientY - frame.top) / frame.height;
    zoom = Math.max(1, Math.min(8, zoom * factor));
    for (const image of panes.querySelectorAll("img")) {
      if (factor !== 1 || zoom > 1) image.style.transformOrigin = `${x}% ${y}%`;
      image.style.transform = `scale(${zoom})`;
    }
  }
  panes.onwheel = (event) => { event.preventDefault(); look(event, Math.exp(-event.deltaY / 400)); };
  panes.onclick = (event) => look(event, zoom > 4 ? 1 / zoom : 2);
  panes.onpointermove = (event) => { if (zoom > 1) look(event, 1); };
  dialog.showModal();
}

const GONE = "likewise does not reply. Is it still running in the terminal?";
const RESTARTED = "likewise was started anew since this page was opened. Every answer before is saved; "
  + "to go on, open the address that the terminal prints now.";

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
  const closer = document.getElementById("closer");
  const isSound = box.dataset.kind === "sound";
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
        alert.textContent = { undefined: GONE, 403: RESTARTED }[error.status] || error.message;
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
    play: playBoth,
    closer: () => {
      const sources = [...box.querySelectorAll(".zoomable")].map((link) => link.getAttribute("href"));
      if (closer.open) closer.close();
      else if (sources.length === 2) lookCloser(sources);
    },
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
    if (event.target.closest("input, textarea, select")) return;
    let act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (isSound && (event.key === " " || event.key === "p")) act = "play";
    if (!act || (help.open && act !== "help")) return;
    if (act === "closer" && isSound) return;
    // Space and Enter on a button that has the focus press that button.
    if (event.key === " " && event.target.closest("button, a, summary")) return;
    event.preventDefault();
    if (closer.open) closer.close();
    else if (act === "closer") { acts.closer(); return; }
    if (act !== "closer") acts[act]();
  }, true); // before a player takes the arrows for itself
  box.addEventListener("click", (event) => {
    if (event.target.closest(".zoomable")) {
      event.preventDefault();
      acts.closer();
      return;
    }
    const target = event.target.closest("[data-act], .answers button");
    if (!target) return;
    event.preventDefault();
    acts[target.dataset.act || target.value]();
  });
  showProgressSoon();
}

// The largest groups have a colour each; more colours could not be told apart.
const COLOURS = [
  "#2b8a7e", "#d0652f", "#4a6fd0", "#b0458f", "#8a8a1c", "#6a4bc4",
  "#2c8fbf", "#c23b4b", "#4f9a3a", "#96653b", "#d38b12", "#7d6f9e",
];
// Above so many items pictures come only when one looks closer: dots show where many are.
const MANY = 3000;
const BUTTONS = 40; // pixels at the side that buttons stand on
const MOST_CHOSEN = 60;

async function startMap(box) {
  const canvas = document.getElementById("map");
  const tip = document.getElementById("tip");
  const pen = canvas.getContext("2d");
  const data = spread(await call("GET", "api/map"));
  const hasPictures = box.dataset.kind === "picture";
  const pictures = new Map();
  let share = 1; // 0 before learning, 1 after
  let view;
  let size = { width: 0, height: 0 };

  // The frame that holds the items after learning, far ones aside, with a margin.
  function frame(points) {
    return [0, 1].map((axis) => {
      const values = points.map((point) => point[axis]).sort((a, b) => a - b);
      const last = values.length - 1;
      return [values[Math.floor(0.005 * last)], values[Math.ceil(0.995 * last)]];
    });
  }
  // The map has no directions of its own: it may be as wide as its frame, within limits.
  function spread(found) {
    const [[left, right], [low, high]] = frame(found.after);
    const wide = ((canvas.clientWidth - 2 * BUTTONS) / canvas.clientHeight) * ((high - low || 1) / (right - left || 1));
    const factor = Math.min(1.8, Math.max(1 / 1.8, wide));
    for (const points of [found.before, found.after]) for (const point of points) point[0] *= factor;
    return found;
  }
  const span = frame(data.after);
  const home = () => ({ x: (span[0][0] + span[0][1]) / 2, y: (span[1][0] + span[1][1]) / 2, zoom: 1 });
  view = home();
  const scale = () => 0.9 * view.zoom * Math.min(
    (size.width - 2 * BUTTONS) / (span[0][1] - span[0][0] || 1), size.height / (span[1][1] - span[1][0] || 1),
  );
  const chosen = new Set();
  let sought = null; // items that a search found, or the group that was pointed at
  let loop = null; // corners of the line drawn around items
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
    const ink = getComputedStyle(document.body).getPropertyValue("--ink");
    const seen = [];
    for (let k = 0; k < data.after.length; k++) {
      const [x, y] = place(k);
      if (x > -30 && y > -30 && x < size.width + 30 && y < size.height + 30) seen.push([k, x, y]);
    }
    // Pictures where there is room for one, dots for the rest; nearer, more find room.
    const side = Math.min(160, (size.width < 600 ? 30 : 40) * Math.sqrt(view.zoom));
    const isDotted = data.after.length > MANY && view.zoom < 4;
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
      const image = hasPictures && !isDotted && isLit(k) && hasRoom(x, y) ? thumbnail(k) : null;
      if (image && image.complete && image.naturalWidth) framed.push([k, x, y, image]);
      else dot(k, x, y, radius, soft);
    }
    for (const [k, x, y, image] of framed) {
      const fit = side / Math.max(image.naturalWidth, image.naturalHeight);
      const [w, h] = [image.naturalWidth * fit, image.naturalHeight * fit];
      pen.drawImage(image, x - w / 2, y - h / 2, w, h);
      pen.strokeStyle = chosen.has(k) ? ink : colourOf(k) || soft;
      pen.lineWidth = chosen.has(k) ? 5 : 2.5;
      pen.strokeRect(x - w / 2, y - h / 2, w, h);
    }
    if (loop) {
      pen.strokeStyle = ink;
      pen.lineWidth = 1.5;
      pen.setLineDash([5, 4]);
      pen.beginPath();
      for (const [x, y] of loop) pen.lineTo(x, y);
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  const isLit = (k) => !sought || sought.has(k);

  function colourOf(k) {
    const group = data.groups[k];
    return group >= 0 && group < COLOURS.length ? COLOURS[group] : null;
  }

  function dot(k, x, y, radius, soft) {
    const isMarked = chosen.has(k) || (sought && sought.has(k));
    pen.globalAlpha = isMarked ? 1 : sought ? 0.12 : data.after.length > MANY ? 0.55 : 0.9;
    pen.fillStyle = colourOf(k) || soft;
    pen.beginPath();
    pen.arc(x, y, isMarked ? radius * 1.8 : radius, 0, 7);
    pen.fill();
    if (chosen.has(k)) {
      pen.lineWidth = 2;
      pen.strokeStyle = getComputedStyle(document.body).getPropertyValue("--ink");
      pen.stroke();
    }
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
  const legend = new Map(data.legend.map((group) => [group.number, group]));
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
    const group = legend.get(data.groups[k]);
    if (group) {
      const title = document.createElement("strong");
      title.textContent = `${group.title} `;
      title.style.color = colourOf(k) || "";
      tip.append(title);
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
    if (isLasso()) loop = [[event.offsetX, event.offsetY]];
  });
  canvas.addEventListener("pointermove", (event) => {
    const old = fingers.get(event.pointerId);
    if (!old) { hover(event.offsetX, event.offsetY).catch(() => {}); return; }
    const now = [event.offsetX, event.offsetY];
    if (loop) {
      loop.push(now);
      requestDraw();
      return;
    }
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
    if (loop) {
      choose(loop);
      loop = null;
      requestDraw();
      return;
    }
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
  const showAll = () => { view = home(); requestDraw(); };
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

  // Choosing: a line drawn around items, and what can be said of them.
  const lasso = document.getElementById("lasso");
  const bar = document.getElementById("chosen-bar");
  const isLasso = () => lasso.getAttribute("aria-pressed") === "true";
  function setLasso(isOn) {
    lasso.setAttribute("aria-pressed", String(isOn));
    canvas.style.cursor = isOn ? "crosshair" : "grab";
  }
  lasso.addEventListener("click", () => setLasso(!isLasso()));
  function isInside([x, y], corners) {
    let inside = false;
    for (let k = 0, j = corners.length - 1; k < corners.length; j = k++) {
      const [[a, b], [c, d]] = [corners[k], corners[j]];
      if (b > y !== d > y && x < ((c - a) * (y - b)) / (d - b) + a) inside = !inside;
    }
    return inside;
  }
  function choose(corners) {
    chosen.clear();
    for (let k = 0; k < data.after.length && chosen.size <= MOST_CHOSEN; k++) {
      if (isInside(place(k), corners)) chosen.add(k);
    }
    showChosen();
  }
  function showChosen(words) {
    const isMany = chosen.size > MOST_CHOSEN;
    bar.classList.toggle("none", chosen.size === 0 && !words);
    bar.querySelector("[data-count]").textContent = words || (isMany
      ? `More than ${MOST_CHOSEN} items: choose fewer.`
      : `${chosen.size} ${chosen.size === 1 ? "item" : "items"} chosen.`);
    const least = { same: 2, different: 1 };
    for (const button of bar.querySelectorAll("[data-say]")) {
      button.disabled = isMany || chosen.size < (least[button.dataset.say] || 0);
    }
  }
  async function say(answer) {
    const items = [...chosen];
    let others = [items.pop()];
    if (answer === "different") {
      items.push(...others);
      // The group that most of them are in: they are told apart from what stands for it.
      const counts = new Map();
      for (const k of items) counts.set(data.groups[k], (counts.get(data.groups[k]) || 0) + 1);
      const [most] = [...counts].sort((a, b) => b[1] - a[1])[0];
      const group = await call("GET", `api/groups/of/${items.find((k) => data.groups[k] === most)}`);
      others = group.representatives.filter((k) => !chosen.has(k));
      if (!others.length) throw new Error("Leave at least one typical item of the group out.");
    }
    await call("POST", "api/groups/answers", { items, others, answer });
    chosen.clear();
    Object.assign(data, spread(await call("GET", "api/map")));
    showChosen("Saved. It stands in the history.");
    requestDraw();
  }
  for (const button of bar.querySelectorAll("[data-say]")) {
    button.addEventListener("click", () => {
      if (button.dataset.say === "clear") { chosen.clear(); showChosen(); requestDraw(); return; }
      say(button.dataset.say).catch((error) => showChosen(error.message));
    });
  }
  showChosen();

  // Searching lights up what it finds; so does pointing at a group of the legend.
  const search = document.getElementById("seek");
  function seek(words) {
    const wanted = words.trim().toLowerCase();
    const titles = new Set(data.legend.filter((group) => group.title.toLowerCase().includes(wanted)).map((group) => group.number));
    sought = wanted
      ? new Set(data.names.flatMap((name, k) => name.toLowerCase().includes(wanted) || titles.has(data.groups[k]) ? [k] : []))
      : null;
    document.getElementById("sought").textContent = sought ? `${sought.size.toLocaleString("en")} found` : "";
    requestDraw();
  }
  search.addEventListener("input", () => seek(search.value));
  for (const entry of document.querySelectorAll("[data-group]")) {
    const number = Number(entry.dataset.group);
    entry.addEventListener("pointerenter", () => {
      sought = new Set(data.groups.flatMap((group, k) => group === number ? [k] : []));
      requestDraw();
    });
    entry.addEventListener("pointerleave", () => seek(search.value));
  }

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

// Likely pairs: one key says what a button says.
function startConfirm(box) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("input, textarea, select")) return;
    if (event.key === " " && event.target.closest("button, a")) return; // presses it
    if (box.querySelector("audio") && (event.key === " " || event.key === "p")) {
      event.preventDefault();
      playBoth();
      return;
    }
    const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    const button = box.querySelector(`.answers button[value="${act}"]`);
    if (!button) return;
    event.preventDefault();
    button.click();
  }, true); // before a player takes space for itself
  const play = box.querySelector("[data-act=play]");
  if (play) play.addEventListener("click", playBoth);
}

const START = { question: startQuestion, map: startMap, choosing: startChoosing, confirm: startConfirm };
for (const box of document.querySelectorAll("[data-page]")) START[box.dataset.page](box);
