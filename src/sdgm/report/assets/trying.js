// "Try a prediction": fields made from the inputs, the answer computed in the page.

const SVG = "http://www.w3.org/2000/svg";

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function drawn(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function startTrying(data) {
  const place = document.getElementById("try-panel");
  if (!place || !data.model) return null;
  const { model, classes, markers } = data;
  const fields = model.inputs.map((input, i) => makeField(input, i, update));
  const used = element("fieldset", { className: "fields", ariaLabel: "Values of the row" });
  const unused = element("fieldset", { className: "fields", ariaLabel: "Features that are not used" });
  model.inputs.forEach((input, i) => (input.used ? used : unused).append(fields[i].box));
  const left = element("div", {}, used);
  if (unused.children.length) {
    const summary = element("summary", { textContent: `${unused.children.length} features that are not used` });
    left.append(element("details", {}, summary, unused));
  }
  const answers = classes.map((name, c) => makeAnswer(name, c, markers));
  const body = element("tbody", {}, ...answers.map((answer) => answer.row));
  const table = element("table", { className: "answers" }, body);
  const problem = element("p", { className: "wrongly", role: "status" });
  const again = element("button", { type: "button", className: "plain", textContent: "Reset to a typical row" });
  again.addEventListener("click", () => { fields.forEach((field) => field.reset()); update(); });
  const right = element("div", { className: "answer" },
    element("h3", { textContent: "Probabilities" }), table, problem, again);
  table.setAttribute("aria-live", "polite");
  place.append(left, right);

  function update() {
    const values = fields.map((field) => field.value());
    const bad = model.inputs.findIndex((input, i) => !acceptable(input, values[i]));
    fields.forEach((field, i) => field.mark(i === bad));
    if (bad >= 0) {
      problem.textContent = `${model.inputs[bad].name}: a number is needed.`;
      answers.forEach((answer) => answer.show(null, false));
      return;
    }
    problem.textContent = "";
    const P = probabilities(model, values);
    const best = P.indexOf(Math.max(...P));
    P.forEach((p, c) => answers[c].show(p, c === best));
  }
  update();
  return {
    set(values) {
      values.forEach((value, i) => fields[i].set(value));
      update();
    },
  };
}

// a NaN is a missing value where training saw one, an infinity never is a value
function acceptable(input, value) {
  if (input.kind !== "number") return true;
  return Number.isFinite(value) || (Number.isNaN(value) && input.fill !== null);
}

function makeField(input, i, changed) {
  const id = `try-${i}`;
  const label = element("label", { htmlFor: id, textContent: input.name });
  const box = element("div", { className: "field" }, label);
  if (input.kind !== "number") {
    const select = element("select", { id });
    input.levels.forEach((level, k) => select.append(new Option(level, k)));
    select.append(new Option(input.missing ? "missing" : "missing (as if unknown)", input.levels.length));
    select.append(new Option("another value", -1));
    select.value = String(input.start);
    select.addEventListener("change", changed);
    box.append(select);
    return {
      box, value: () => Number(select.value), set: (value) => { select.value = String(value); },
      reset: () => { select.value = String(input.start); }, mark: () => {},
    };
  }
  const field = element("input", { type: "number", step: "any", id, value: input.start });
  field.addEventListener("input", changed);
  box.append(field);
  let missing = null;
  if (input.fill !== null) {
    missing = element("input", { type: "checkbox", id: `${id}-missing` });
    missing.addEventListener("change", () => { field.disabled = missing.checked; changed(); });
    box.append(element("label", { className: "none", htmlFor: missing.id }, missing, "missing"));
  }
  const set = (value) => {
    if (missing) { missing.checked = Number.isNaN(value); field.disabled = missing.checked; }
    if (!Number.isNaN(value)) field.value = String(value);
  };
  return {
    box, set,
    // an empty field is a missing value
    value: () => (missing && missing.checked ? NaN : field.value === "" ? NaN : Number(field.value)),
    reset: () => set(Number(input.start)),
    mark: (bad) => { field.setAttribute("aria-invalid", String(bad)); },
  };
}

function makeAnswer(name, c, markers) {
  const color = `f${c % 7}`;
  const mark = drawn("path", { d: markers[c], class: color });
  const swatch = drawn("svg", { viewBox: "-1.3 -1.3 2.6 2.6", class: "swatch", "aria-hidden": "true" }, mark);
  const value = element("td", { className: "number" });
  const bar = drawn("rect", { x: 0, y: 2, width: 0, height: 8, class: color });
  const track = drawn("rect", { x: 0, y: 2, width: 100, height: 8, class: "track" });
  const picture = drawn("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", class: "level", "aria-hidden": "true" }, track, bar);
  const head = element("th", { scope: "row" }, swatch, name);
  const row = element("tr", {}, head, value, element("td", {}, picture));
  return {
    row,
    show(p, isBest) {
      value.textContent = p === null ? "–" : written(p);
      // all digits, for those who want to compare
      value.dataset.value = p === null ? "" : String(p);
      value.title = p === null ? "" : String(p);
      bar.setAttribute("width", p === null ? 0 : 100 * p);
      row.classList.toggle("best", isBest);
    },
  };
}

function written(p) {
  if (p > 0 && p < 0.0005) return p.toExponential(1);
  return `${(100 * p).toFixed(p > 0.9995 && p < 1 ? 3 : 1)}%`;
}
