// The film: one picture per frame, drawn on a canvas from small arrays.

const KINDS = { u1: Uint8Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
const FRAME_TIME = 160, LAST_TIME = 1400, MARGINS = { left: 48, right: 12, top: 10, bottom: 40 };
const SHADE = 0.42, TEMPER = 3;

// size of the picture, as wide as it is shown so that its letters stay readable
let WIDTH = 640, HEIGHT = 520;

function unpacked(packed) {
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return { shape: packed.shape, data: new KINDS[packed.type](bytes.buffer) };
}

function palette() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  return {
    paper: rgb(get("--paper")), ink: get("--ink"), quiet: get("--quiet"), rule: get("--rule"),
    names: [0, 1, 2, 3, 4, 5, 6].map((c) => get(`--c${c}`)),
    classes: [0, 1, 2, 3, 4, 5, 6].map((c) => rgb(get(`--c${c}`))),
  };
}

function rgb(hex) {
  const full = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  return [1, 3, 5].map((i) => parseInt(full.slice(i, i + 2), 16));
}

function mixed(color, paper, share) {
  return color.map((value, i) => Math.round(paper[i] + share * (value - paper[i])));
}

function startFilm(data, trying) {
  const canvas = document.getElementById("film-canvas");
  if (!canvas || !data.film) return;
  const film = data.film, arrays = {};
  for (const [name, packed] of Object.entries(film.arrays)) arrays[name] = unpacked(packed);
  const n = film.captions.length;
  const layers = { rows: true, ellipses: true, vectors: true };
  const slider = document.getElementById("film-slider");
  const caption = document.getElementById("film-caption");
  const button = document.getElementById("film-play");
  const box = limits(film, arrays);
  const pictures = new Map(); // of the plane, by frame; made when first seen
  let colors = palette(), timer = null;

  function fit() {
    WIDTH = Math.min(Math.max(Math.round(canvas.clientWidth) || 640, 300), 680);
    HEIGHT = Math.round(0.83 * WIDTH);
  }
  function show(frame) {
    drawFrame(canvas, film, arrays, data, box, frame, colors, layers, pictures);
    caption.textContent = film.captions[frame];
    slider.setAttribute("aria-valuetext", film.captions[frame]);
    moveCursors(arrays.iteration.data[frame]);
  }
  function redraw() { colors = palette(); pictures.clear(); show(Number(slider.value)); }
  function stop() { clearTimeout(timer); timer = null; button.textContent = "Play"; button.ariaLabel = "Play the animation"; }
  function step() {
    const next = Number(slider.value) + 1;
    if (next >= n) { stop(); return; }
    slider.value = String(next);
    show(next);
    timer = setTimeout(step, next === n - 1 ? LAST_TIME : FRAME_TIME);
  }
  button.addEventListener("click", () => {
    if (timer !== null) { stop(); return; }
    if (Number(slider.value) >= n - 1) { slider.value = "0"; show(0); }
    button.textContent = "Pause";
    button.ariaLabel = "Pause the animation";
    timer = setTimeout(step, 3 * FRAME_TIME);
  });
  slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
  for (const toggle of document.querySelectorAll("[data-layer]")) {
    toggle.addEventListener("change", () => { layers[toggle.dataset.layer] = toggle.checked; show(Number(slider.value)); });
  }
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", redraw);
  }
  if (film.plane && trying) {
    canvas.classList.add("plane");
    canvas.addEventListener("click", (event) => {
      const place = canvas.getBoundingClientRect();
      const [u, v] = [WIDTH * (event.clientX - place.left) / place.width, HEIGHT * (event.clientY - place.top) / place.height];
      const x = box.x0 + (u - MARGINS.left) / (WIDTH - MARGINS.left - MARGINS.right) * (box.x1 - box.x0);
      const y = box.y0 + (HEIGHT - MARGINS.bottom - v) / (HEIGHT - MARGINS.top - MARGINS.bottom) * (box.y1 - box.y0);
      trying.set([x, y].map((value) => Number(value.toPrecision(4))));
      document.getElementById("try").scrollIntoView({ block: "nearest" });
    });
  }
  new ResizeObserver(() => {
    const before = WIDTH;
    fit();
    if (WIDTH !== before) show(Number(slider.value));
  }).observe(canvas);
  fit();
  show(n - 1);
}

function limits(film, arrays) {
  if (arrays.limits) {
    const [x0, x1, y0, y1] = arrays.limits.data;
    return { x0, x1, y0, y1 };
  }
  const view = arrays.view.data, sides = [[Infinity, -Infinity], [Infinity, -Infinity]];
  for (let i = 0; i < view.length; i++) {
    const side = sides[i % 2];
    side[0] = Math.min(side[0], view[i]);
    side[1] = Math.max(side[1], view[i]);
  }
  const [[x0, x1], [y0, y1]] = sides.map(([a, b]) => { const room = 0.06 * (b - a) || 1; return [a - room, b + room]; });
  return { x0, x1, y0, y1 };
}

function moveCursors(iteration) {
  for (const chart of document.querySelectorAll("svg.chart")) {
    const cursor = chart.querySelector(".cursor");
    if (!cursor) continue;
    const { left, right, low, high, log } = chart.dataset;
    const share = log ? Math.log(iteration / low) / Math.log(high / low) : (iteration - low) / (high - low);
    const x = Number(left) + share * (right - left);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.setAttribute("visibility", "visible");
  }
}

function drawFrame(canvas, film, arrays, data, box, frame, colors, layers, pictures) {
  const ratio = Math.min(Math.max(window.devicePixelRatio || 1, 1.5), 3);
  if (canvas.width !== Math.round(WIDTH * ratio) || canvas.height !== Math.round(HEIGHT * ratio)) {
    canvas.width = Math.round(WIDTH * ratio);
    canvas.height = Math.round(HEIGHT * ratio);
  }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, WIDTH, HEIGHT);
  const inner = { x: MARGINS.left, y: MARGINS.top, w: WIDTH - MARGINS.left - MARGINS.right, h: HEIGHT - MARGINS.top - MARGINS.bottom };
  const px = (x) => inner.x + inner.w * (x - box.x0) / (box.x1 - box.x0);
  const py = (y) => inner.y + inner.h * (1 - (y - box.y0) / (box.y1 - box.y0));
  if (arrays.grid) {
    const n_classes = data.classes.length, size = arrays.grid.shape[2];
    if (!pictures.has(frame)) {
      pictures.set(frame, [planePicture(arrays.grid, frame, n_classes, colors), planeLines(arrays.grid, frame, n_classes)]);
    }
    const [picture, lines] = pictures.get(frame), placed = new Path2D();
    g.imageSmoothingEnabled = true;
    g.imageSmoothingQuality = "high";
    g.drawImage(picture, inner.x, inner.y, inner.w, inner.h);
    placed.addPath(lines, new DOMMatrix([inner.w / (size - 1), 0, 0, -inner.h / (size - 1), inner.x, inner.y + inner.h]));
    g.strokeStyle = colors.ink;
    g.lineWidth = 1.8;
    g.lineCap = "round";
    g.stroke(placed);
  }
  g.save();
  g.beginPath();
  g.rect(inner.x, inner.y, inner.w, inner.h);
  g.clip();
  if (layers.rows) drawRows(g, arrays, data, frame, colors, px, py, layers);
  if (layers.ellipses && arrays.mean) drawEllipses(g, arrays, frame, colors, px, py);
  g.restore();
  drawAxes(g, film, box, inner, colors, px, py);
}

// Class regions on a fine grid: tempered probabilities are interpolated, then made sharp again.
function planePicture(grid, frame, n_classes, colors) {
  const [, channels, size] = grid.shape, step = Math.max(2, Math.round(260 / size)), fine = (size - 1) * step + 1;
  const picture = element("canvas", { width: fine, height: fine });
  const g = picture.getContext("2d"), image = g.createImageData(fine, fine);
  const start = frame * channels * size * size;
  const s = new Float64Array(n_classes);
  for (let v = 0; v < fine; v++) {
    const j = Math.min(Math.floor(v / step), size - 2), b = v / step - j;
    for (let u = 0; u < fine; u++) {
      const i = Math.min(Math.floor(u / step), size - 2), a = u / step - i;
      let rest = 255, total = 0, best = 0;
      for (let c = 1; c < n_classes; c++) {
        const o = start + (c - 1) * size * size + j * size + i, d = grid.data;
        s[c] = (1 - b) * ((1 - a) * d[o] + a * d[o + 1]) + b * ((1 - a) * d[o + size] + a * d[o + size + 1]);
        rest -= s[c];
      }
      s[0] = Math.max(rest, 0);
      for (let c = 0; c < n_classes; c++) {
        if (s[c] > s[best]) best = c;
        total += s[c] ** TEMPER;
      }
      const p = s[best] ** TEMPER / total, sure = (p - 1 / n_classes) / (1 - 1 / n_classes);
      const row = fine - 1 - v, color = mixed(colors.classes[best % 7], colors.paper, SHADE * (0.25 + 0.75 * sure));
      image.data.set([...color, 255], 4 * (row * fine + u));
    }
  }
  g.putImageData(image, 0, 0);
  return picture;
}

// Lines where a class and its best rival are equally probable: marching squares, class by class.
function planeLines(grid, frame, n_classes) {
  const [, channels, size] = grid.shape, start = frame * channels * size * size, path = new Path2D();
  const value = (c, at) => {
    if (c > 0) return grid.data[start + (c - 1) * size * size + at];
    let rest = 255;
    for (let k = 0; k < channels; k++) rest -= grid.data[start + k * size * size + at];
    return rest;
  };
  for (let c = n_classes === 2 ? 1 : 0; c < n_classes; c++) {
    const lead = new Float64Array(size * size);
    for (let at = 0; at < lead.length; at++) {
      let rival = -Infinity;
      for (let k = 0; k < n_classes; k++) if (k !== c) rival = Math.max(rival, value(k, at));
      lead[at] = value(c, at) - rival || 1e-9;
    }
    for (let j = 0; j < size - 1; j++) {
      for (let i = 0; i < size - 1; i++) {
        const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]], crossings = [];
        for (let k = 0; k < 4; k++) {
          const [p, q] = [corners[k], corners[(k + 1) % 4]];
          const [a, b] = [lead[p[1] * size + p[0]], lead[q[1] * size + q[0]]];
          if (a > 0 === b > 0) continue;
          const t = a / (a - b);
          crossings.push([p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])]);
        }
        for (let k = 0; k + 1 < crossings.length; k += 2) {
          path.moveTo(...crossings[k]);
          path.lineTo(...crossings[k + 1]);
        }
      }
    }
  }
  return path;
}

function drawRows(g, arrays, data, frame, colors, px, py, layers) {
  const n = arrays["rows/y"].data.length, radius = (n > 250 ? 3.6 : 4.2) * Math.min(1, WIDTH / 500);
  const rings = arrays["rows/vector"] ? arrays["rows/vector"].data.subarray(frame * n, (frame + 1) * n) : null;
  const crowded = rings !== null && rings.reduce((sum, ring) => sum + ring, 0) > 40;
  for (let i = 0; i < n; i++) {
    const truth = arrays["rows/y"].data[i], said = arrays["rows/class"].data[frame * n + i];
    const sure = arrays["rows/confidence"].data[frame * n + i] / 255;
    const [x, y] = [px(arrays.view.data[2 * i]), py(arrays.view.data[2 * i + 1])];
    const path = new Path2D(), mark = new Path2D(data.markers[truth]);
    path.addPath(mark, new DOMMatrix([radius, 0, 0, radius, x, y]));
    // in the plane the ground says what is predicted
    const fill = arrays.grid ? colors.classes[truth % 7] : mixed(colors.classes[said % 7], colors.paper, 0.15 + 0.75 * sure);
    g.fillStyle = `rgb(${fill.join(" ")})`;
    g.strokeStyle = arrays.grid ? `rgb(${colors.paper.join(" ")})` : colors.names[truth % 7];
    g.lineWidth = arrays.grid ? 0.7 : said === truth ? 1 : 2.2;
    g.fill(path);
    g.stroke(path);
    if (layers.vectors && rings !== null && rings[i]) {
      g.beginPath();
      g.arc(x, y, radius + 3.6, 0, 2 * Math.PI);
      g.strokeStyle = colors.ink;
      g.lineWidth = crowded ? 0.8 : 1.5;
      g.globalAlpha = crowded ? 0.5 : 1;
      g.stroke();
      g.globalAlpha = 1;
    }
  }
}

function drawEllipses(g, arrays, frame, colors, px, py) {
  const K = arrays.component_class.data.length;
  for (let k = 0; k < K; k++) {
    const at = frame * K + k, [m1, m2] = arrays.mean.data.subarray(2 * at, 2 * at + 2);
    const [a, b, c] = arrays.covariance.data.subarray(3 * at, 3 * at + 3);
    if (!Number.isFinite(m1) || !(a > 0)) continue;
    const l11 = Math.sqrt(a), l21 = b / l11, l22 = Math.sqrt(Math.max(c - l21 * l21, 0));
    const color = colors.classes[arrays.component_class.data[k] % 7];
    for (const sigmas of [2, 1]) {
      g.beginPath();
      for (let i = 0; i <= 96; i++) {
        const angle = 2 * Math.PI * i / 96, u = sigmas * Math.cos(angle), v = sigmas * Math.sin(angle);
        g.lineTo(px(m1 + l11 * u), py(m2 + l21 * u + l22 * v));
      }
      g.lineWidth = sigmas === 1 ? 2.4 : 1.4;
      g.strokeStyle = `rgb(${color.join(" ")} / ${sigmas === 1 ? 0.95 : 0.6})`;
      g.stroke();
    }
  }
}

function drawAxes(g, film, box, inner, colors, px, py) {
  g.strokeStyle = colors.rule;
  g.lineWidth = 1;
  g.strokeRect(inner.x + 0.5, inner.y + 0.5, inner.w - 1, inner.h - 1);
  g.fillStyle = colors.quiet;
  g.font = "12px system-ui, 'Liberation Sans', sans-serif";
  g.textAlign = "center";
  for (const tick of ticks(box.x0, box.x1)) g.fillText(label(tick), px(tick), inner.y + inner.h + 15);
  g.textAlign = "right";
  for (const tick of ticks(box.y0, box.y1)) g.fillText(label(tick), inner.x - 6, py(tick) + 4);
  g.fillStyle = colors.ink;
  g.textAlign = "center";
  g.fillText(film.axes[0], inner.x + inner.w / 2, HEIGHT - 6, inner.w);
  g.save();
  g.translate(12, inner.y + inner.h / 2);
  g.rotate(-Math.PI / 2);
  g.fillText(film.axes[1], 0, 0, inner.h);
  g.restore();
}

function ticks(low, high) {
  const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const made = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) made.push(k * step);
  return made;
}

function label(value) {
  return String(Number(value.toPrecision(6))).replace("-", "\u2212");
}
