"use strict";
(() => {
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const MARGIN = { top: 20, right: 22, bottom: 42, left: 54 };
  const MARKERS = 7; // on a curve, whatever part of it is in view
  const SMALLEST_DRAG = 8; // pixels; less is a click
  const SMALLEST_BOX = 32; // pixels; a drag of less height leaves the height to the curves

  function svg(name, attributes, parent) {
    const node = document.createElementNS(NAMESPACE, name);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    if (parent) parent.append(node);
    return node;
  }

  function html(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  // ---- Numbers

  const group = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");

  /** As many digits as one reads at a glance. */
  function show(value) {
    if (value === null || !Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    const digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    const [whole, rest] = size.toFixed(digits).split(".");
    return (value < 0 ? "−" : "") + group(whole) + (rest ? "." + rest : "");
  }

  const percent = (value) => (value === null ? "–" : (100 * value).toFixed(1) + "\u202f%");

  /** Round numbers in [low, high], about `count` of them. */
  function ticks(low, high, count) {
    const rough = (high - low) / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
      found.push(Number((i * step).toFixed(digits)));
    }
    return found;
  }

  /** The same on a logarithmic axis: powers of ten, and more of them when there is room. */
  function logTicks(low, high, count) {
    for (const factors of [[1], [1, 3], [1, 2, 5]]) {
      const found = [];
      for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) {
        for (const factor of factors) {
          const tick = factor * 10 ** e;
          if (tick >= low * 0.999 && tick <= high * 1.001 && tick >= 1) found.push(tick);
        }
      }
      if (found.length >= Math.min(4, count)) return found;
    }
    return ticks(low, high, count);
  }

  // ---- Figures

  const METRICS = {
    regret: { title: "Regret", axis: "regret", show, curves: ["mean", "q25", "q75"] },
    share: { title: "Best-arm share", axis: "pulls of a best arm", show: percent, curves: ["share"] },
  };

  class Figure {
    constructor(root, number) {
      this.root = root;
      this.number = number;
      this.data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
      this.series = this.data.series;
      this.metric = "regret";
      this.log = false;
      this.bands = true;
      this.hidden = new Set();
      this.focus = null; // the curve whose legend is pointed at
      this.view = null; // {x: [from, to], y: [from, to] or null}: what was zoomed to
      this.cursor = null; // an index into the times
      this.pointers = new Map();
      this.build();
      this.listen();
      new ResizeObserver(() => this.resize()).observe(this.plot);
      this.resize();
    }

    // -- The parts

    build() {
      const id = (part) => `figure-${this.number}-${part}`;
      this.tabs = Object.entries(METRICS).map(([name, metric]) => {
        const tab = html("button", { type: "button", role: "tab", id: id(name), "aria-controls": id("plot") }, metric.title);
        tab.dataset.metric = name;
        return tab;
      });
      const button = (text, attributes) => html("button", { type: "button", ...attributes }, text);
      this.logButton = button("Log time", { "aria-pressed": "false" });
      this.bandButton = button("Quartiles", { "aria-pressed": "true" });
      this.resetButton = button("Reset zoom", { disabled: "" });
      const tools = html(
        "div",
        { class: "tools" },
        html("div", { class: "tabs", role: "tablist", "aria-label": "What to draw" }, ...this.tabs),
        html("span", { class: "gap" }),
        this.bandButton,
        this.logButton,
        this.resetButton,
      );

      this.plot = html("div", { class: "plot", id: id("plot"), role: "tabpanel" });
      this.svg = svg(
        "svg",
        { tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-describedby": id("hint") },
        this.plot,
      );
      const clip = svg("clipPath", { id: id("clip") }, svg("defs", {}, this.svg));
      this.clip = svg("rect", {}, clip);
      const layer = (name, clipped) =>
        svg("g", { class: name, ...(clipped ? { "clip-path": `url(#${id("clip")})` } : {}) }, this.svg);
      this.layers = {
        axes: layer("axes"),
        bands: layer("bands", true),
        changes: layer("changes"),
        curves: layer("curves", true),
        cursor: layer("cursor"),
      };
      this.brush = svg("rect", { class: "brush", visibility: "hidden" }, this.svg);

      this.when = html("p", { class: "when" });
      this.allButton = button("Hide all", {});
      this.legend = html("ul", { class: "legend", "aria-label": "Curves" });
      this.entries = this.series.map((series, i) => {
        const value = html("span", { class: "value" });
        const entry = html(
          "button",
          { type: "button", "aria-pressed": "true", title: series.label },
          this.key(series),
          html("span", { class: "name" }, series.label),
          value,
        );
        entry.addEventListener("click", () => this.toggle(i));
        for (const [event, focus] of [["pointerenter", i], ["focus", i], ["pointerleave", null], ["blur", null]]) {
          entry.addEventListener(event, (e) => {
            if (e.pointerType === "touch") return;
            this.focus = focus;
            this.fade();
          });
        }
        this.legend.append(html("li", {}, entry));
        return { entry, value };
      });
      const hint = html(
        "p",
        { class: "hint", id: id("hint") },
        matchMedia("(pointer: coarse)").matches
          ? "Touch the figure to read values; zoom with two fingers, move with one, double-tap to reset. Tap a name to hide its curve."
          : "Drag to zoom, double-click to reset. Click a name to hide its curve. With the keyboard: arrows to read values, + and − to zoom, 0 to reset.",
      );
      this.spoken = html("p", { class: "unseen", "aria-live": "polite" });
      this.root.append(
        tools,
        this.plot,
        html("div", { class: "legend-head" }, this.when, html("div", { class: "tools" }, this.allButton)),
        this.legend,
        hint,
        this.spoken,
      );
    }

    /** A piece of the line with its marker. */
    key(series) {
      const key = svg("svg", { class: series.pale ? "key pale" : "key", width: 26, height: 12, viewBox: "-13 -6 26 12", "aria-hidden": "true" });
      key.style.setProperty("--c", series.colour);
      svg("line", { x1: -13, x2: 13, "stroke-dasharray": series.dash || "none" }, key);
      if (series.marker) svg("use", { href: `#mark-${series.marker}` }, key);
      return key;
    }

    listen() {
      this.tabs.forEach((tab, i) => {
        tab.addEventListener("click", () => this.choose(tab.dataset.metric));
        tab.addEventListener("keydown", (event) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (!step) return;
          event.preventDefault();
          const next = this.tabs[(i + step + this.tabs.length) % this.tabs.length];
          next.focus();
          this.choose(next.dataset.metric);
        });
      });
      this.logButton.addEventListener("click", () => {
        this.log = !this.log;
        if (this.view) this.zoom(this.view.x.map(this.f), null);
        this.draw();
      });
      this.bandButton.addEventListener("click", () => {
        this.bands = !this.bands;
        this.draw();
      });
      this.resetButton.addEventListener("click", () => this.reset());
      this.allButton.addEventListener("click", () => {
        if (this.hidden.size === this.series.length) this.hidden.clear();
        else this.series.forEach((_, i) => this.hidden.add(i));
        this.draw();
      });
      const on = (name, handler, options) => this.svg.addEventListener(name, handler.bind(this), options);
      on("pointerdown", this.pressed);
      on("pointermove", this.moved);
      on("pointerup", this.released);
      on("pointercancel", this.cancelled);
      on("pointerleave", (event) => {
        if (event.pointerType !== "touch" && !this.drag) this.point(null);
      });
      on("dblclick", this.reset);
      on("wheel", this.wheeled, { passive: false });
      on("keydown", this.typed);
    }

    choose(metric) {
      this.metric = metric;
      if (this.view) this.view.y = null;
      this.draw();
    }

    toggle(i) {
      if (!this.hidden.delete(i)) this.hidden.add(i);
      this.draw();
    }

    // -- Scales. Zooming works in u = f(t), where the axis is even.

    f = (t) => (this.log ? Math.log10(Math.max(t, this.data.t[0])) : t);
    back = (u) => (this.log ? 10 ** u : u);

    get whole() {
      return [this.log ? this.data.t[0] : 0, this.data.horizon];
    }

    get span() {
      return this.view ? this.view.x : this.whole;
    }

    x(t) {
      const [from, to] = this.span.map(this.f);
      return MARGIN.left + ((this.f(t) - from) / (to - from || 1)) * this.width;
    }

    u(pixel) {
      const [from, to] = this.span.map(this.f);
      return from + ((pixel - MARGIN.left) / this.width) * (to - from);
    }

    y(value) {
      const [from, to] = this.range;
      return MARGIN.top + (1 - (value - from) / (to - from || 1)) * this.height;
    }

    /** The indices of the times in view, and one more on either side. */
    get part() {
      const { t } = this.data;
      const [from, to] = this.span;
      let first = t.findIndex((time) => time >= from);
      let last = t.findLastIndex((time) => time <= to);
      if (first < 0) first = t.length - 1;
      if (last < 0) last = 0;
      return [Math.max(0, Math.min(first, last) - 1), Math.min(t.length - 1, Math.max(first, last) + 1)];
    }

    /** The values in view. */
    fit() {
      if (this.view && this.view.y) return this.view.y;
      if (this.metric === "share" && !this.view) return [0, 1];
      let low = Infinity;
      let high = -Infinity;
      const [first, last] = this.part;
      this.series.forEach((series, i) => {
        if (this.hidden.has(i)) return;
        for (const name of METRICS[this.metric].curves) {
          if (name !== "mean" && name !== "share" && !this.bands) continue;
          const values = series[name];
          if (!values) continue;
          for (let j = first; j <= last; j++) {
            if (values[j] === null) continue;
            low = Math.min(low, values[j]);
            high = Math.max(high, values[j]);
          }
        }
      });
      if (high === -Infinity) return [0, 1];
      if (!this.view) low = Math.min(0, low);
      const room = 0.04 * (high - low) || 0.05 * Math.abs(high) || 1;
      return [this.view || low < 0 ? low - room : low, high + room];
    }

    /** Show from u to u (and from value to value). */
    zoom(us, values) {
      const [least, most] = this.whole.map(this.f);
      const smallest = this.log ? 0.02 : Math.min(8, this.data.horizon);
      let [from, to] = us[0] <= us[1] ? us : [us[1], us[0]];
      if (to - from < smallest) [from, to] = [(from + to - smallest) / 2, (from + to + smallest) / 2];
      const width = Math.min(to - from, most - least);
      from = Math.min(Math.max(from, least), most - width);
      const all = width > (most - least) * 0.999;
      this.view = all && !values ? null : { x: [this.back(from), this.back(from + width)], y: values };
      this.draw();
    }

    zoomAround(pixel, factor) {
      const centre = this.u(pixel);
      const [from, to] = this.span.map(this.f);
      this.zoom([centre - (centre - from) * factor, centre + (to - centre) * factor], null);
    }

    reset() {
      this.view = null;
      this.draw();
    }

    // -- Pointers and keys

    place(event) {
      const box = this.svg.getBoundingClientRect();
      const inside = (value, from, size) => Math.min(Math.max(value, from), from + size);
      return {
        x: inside(((event.clientX - box.left) / box.width) * this.size[0], MARGIN.left, this.width),
        y: inside(((event.clientY - box.top) / box.height) * this.size[1], MARGIN.top, this.height),
      };
    }

    pressed(event) {
      if (event.button !== 0) return;
      const at = this.place(event);
      this.pointers.set(event.pointerId, at);
      this.svg.setPointerCapture(event.pointerId);
      if (this.pointers.size === 2) {
        this.drag = null;
        this.brush.setAttribute("visibility", "hidden");
        this.held = [...this.pointers.values()].map((p) => this.u(p.x)); // stays under the fingers
      } else if (event.pointerType === "touch") {
        this.grip = this.u(at.x);
        this.point(at.x);
      } else {
        this.drag = at;
      }
    }

    moved(event) {
      const at = this.place(event);
      if (this.pointers.has(event.pointerId)) this.pointers.set(event.pointerId, at);
      if (this.pointers.size === 2 && this.held) {
        const [a, b] = [...this.pointers.values()].map((p) => p.x);
        if (Math.abs(a - b) < 12) return;
        const slope = (this.held[1] - this.held[0]) / (b - a);
        if (!(slope > 0)) return;
        const from = this.held[0] - (a - MARGIN.left) * slope;
        this.zoom([from, from + this.width * slope], null);
      } else if (this.drag) {
        const wide = Math.abs(at.x - this.drag.x) >= SMALLEST_DRAG;
        const box = Math.abs(at.y - this.drag.y) >= SMALLEST_BOX;
        const rectangle = {
          x: Math.min(at.x, this.drag.x),
          width: Math.abs(at.x - this.drag.x),
          y: box ? Math.min(at.y, this.drag.y) : MARGIN.top,
          height: box ? Math.abs(at.y - this.drag.y) : this.height,
          visibility: wide ? "visible" : "hidden",
        };
        for (const [key, value] of Object.entries(rectangle)) this.brush.setAttribute(key, value);
        this.point(at.x);
      } else if (event.pointerType === "touch") {
        if (!this.pointers.has(event.pointerId)) return;
        if (this.view && this.grip !== null) {
          const [from, to] = this.span.map(this.f);
          const shift = this.grip - this.u(at.x);
          this.zoom([from + shift, to + shift], this.view.y);
        } else {
          this.point(at.x);
        }
      } else {
        this.point(at.x);
      }
    }

    released(event) {
      const start = this.drag;
      this.cancelled(event);
      if (!start) return;
      const at = this.place(event);
      if (Math.abs(at.x - start.x) < SMALLEST_DRAG) return;
      const value = (pixel) => this.range[1] - ((pixel - MARGIN.top) / this.height) * (this.range[1] - this.range[0]);
      const box = Math.abs(at.y - start.y) >= SMALLEST_BOX;
      const values = box ? [value(Math.max(at.y, start.y)), value(Math.min(at.y, start.y))] : null;
      this.zoom([this.u(start.x), this.u(at.x)], values);
    }

    cancelled(event) {
      this.pointers.delete(event.pointerId);
      this.drag = null;
      this.held = null;
      this.grip = null;
      this.brush.setAttribute("visibility", "hidden");
    }

    wheeled(event) {
      if (!event.ctrlKey) return; // the page scrolls; with Ctrl, or by a pinch on a touchpad, we zoom
      event.preventDefault();
      this.zoomAround(this.place(event).x, Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.01));
    }

    typed(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const [first, last] = this.part;
      const here = this.cursor === null ? last : this.cursor;
      const step = event.shiftKey ? 10 : 1;
      const pixel = this.cursor === null ? MARGIN.left + this.width / 2 : this.x(this.data.t[this.cursor]);
      const move = (i) => {
        this.cursor = Math.max(first, Math.min(last, i));
        this.drawCursor();
        this.speak();
      };
      const actions = {
        ArrowLeft: () => move(here - step),
        ArrowRight: () => move(here + step),
        Home: () => move(first),
        End: () => move(last),
        "+": () => this.zoomAround(pixel, 0.6),
        "=": () => this.zoomAround(pixel, 0.6),
        "-": () => this.zoomAround(pixel, 1 / 0.6),
        0: () => this.reset(),
        Escape: () => this.reset(),
      };
      if (!Object.hasOwn(actions, event.key)) return;
      event.preventDefault();
      actions[event.key]();
    }

    /** Read the values at a place of the figure. */
    point(pixel) {
      let nearest = null;
      if (pixel !== null) {
        const [first, last] = this.part;
        for (let i = first; i <= last; i++) {
          const off = Math.abs(this.x(this.data.t[i]) - pixel);
          if (nearest === null || off < Math.abs(this.x(this.data.t[nearest]) - pixel)) nearest = i;
        }
      }
      this.cursor = nearest;
      this.drawCursor();
    }

    // -- Drawing

    resize() {
      const width = Math.round(this.plot.clientWidth);
      if (!width || (this.size && this.size[0] === width)) return;
      this.size = [width, Math.round(Math.min(460, Math.max(270, width * 0.52)))];
      this.width = width - MARGIN.left - MARGIN.right;
      this.height = this.size[1] - MARGIN.top - MARGIN.bottom;
      this.svg.setAttribute("viewBox", `0 0 ${this.size[0]} ${this.size[1]}`);
      const box = { x: MARGIN.left, y: MARGIN.top - 4, width: this.width, height: this.height + 4 };
      for (const [key, value] of Object.entries(box)) this.clip.setAttribute(key, value);
      this.draw();
    }

    draw() {
      if (!this.size) return;
      this.range = this.fit();
      const metric = METRICS[this.metric];
      this.tabs.forEach((tab) => {
        const selected = tab.dataset.metric === this.metric;
        tab.setAttribute("aria-selected", selected);
        tab.tabIndex = selected ? 0 : -1;
        if (selected) this.plot.setAttribute("aria-labelledby", tab.id);
      });
      this.logButton.setAttribute("aria-pressed", this.log);
      this.bandButton.setAttribute("aria-pressed", this.bands);
      this.bandButton.disabled = this.metric !== "regret";
      this.resetButton.disabled = !this.view;
      this.allButton.textContent = this.hidden.size === this.series.length ? "Show all" : "Hide all";
      this.svg.setAttribute("aria-label", `${metric.title} over time: ${this.data.title}`);
      this.drawAxes(metric);
      this.drawCurves();
      this.drawCursor();
    }

    drawAxes(metric) {
      const { axes, changes } = this.layers;
      axes.replaceChildren();
      changes.replaceChildren();
      const bottom = MARGIN.top + this.height;
      const right = MARGIN.left + this.width;
      const text = (content, attributes) => {
        svg("text", attributes, axes).textContent = content;
      };
      for (const value of ticks(...this.range, Math.max(3, Math.round(this.height / 50)))) {
        const y = this.y(value).toFixed(1);
        svg("line", { class: "grid", x1: MARGIN.left, x2: right, y1: y, y2: y }, axes);
        const shown = this.metric === "share" ? `${Number((value * 100).toFixed(6))}\u202f%` : this.tick(value);
        text(shown, { class: "tick-y", x: MARGIN.left - 8, y, dy: ".32em", "text-anchor": "end" });
      }
      const count = Math.max(3, Math.round(this.width / 95));
      for (const t of (this.log ? logTicks : ticks)(...this.span, count)) {
        const x = this.x(t).toFixed(1);
        svg("line", { class: "axis", x1: x, x2: x, y1: bottom, y2: bottom + 5 }, axes);
        text(this.tick(t), { class: "tick-x", x, y: bottom + 19, "text-anchor": "middle" });
      }
      svg("line", { class: "axis", x1: MARGIN.left, x2: right, y1: bottom, y2: bottom }, axes);
      text("time step" + (this.log ? " (log scale)" : ""), {
        x: MARGIN.left + this.width / 2,
        y: bottom + 37,
        "text-anchor": "middle",
      });
      text(metric.axis, { x: 0, y: 11 });
      for (const t of this.data.changes) {
        const [from, to] = this.span;
        if (t < from || t > to) continue;
        const x = this.x(t).toFixed(1);
        const line = svg("line", { class: "change", x1: x, x2: x, y1: MARGIN.top, y2: bottom }, changes);
        svg("title", {}, line).textContent = `the arms change at ${group(String(t))}`;
      }
    }

    tick(value) {
      const [whole, rest] = String(Math.abs(value)).split(".");
      return (value < 0 ? "−" : "") + group(whole) + (rest ? "." + rest : "");
    }

    drawCurves() {
      const { bands, curves } = this.layers;
      bands.replaceChildren();
      curves.replaceChildren();
      const [first, last] = this.part;
      // Later curves lie below: the scenario names what it is about first.
      for (let i = this.series.length - 1; i >= 0; i--) {
        if (this.hidden.has(i)) continue;
        const series = this.series[i];
        const values = this.metric === "regret" ? series.mean : series.share;
        if (!values) continue;
        if (this.metric === "regret" && this.bands && series.q25) {
          const up = this.points(series.q75, first, last);
          const down = this.points(series.q25, first, last).reverse();
          const band = svg("path", { class: "band", d: `M${up.concat(down).join("L")}Z` }, bands);
          band.dataset.series = i;
          band.style.setProperty("--c", series.colour);
        }
        const kind = (series.marker ? "" : " bound") + (series.pale ? " pale" : "");
        const curve = svg("g", { class: "curve" + kind }, curves);
        curve.dataset.series = i;
        curve.dataset.label = series.label;
        curve.style.setProperty("--c", series.colour);
        const d = `M${this.points(values, first, last).join("L")}`;
        const dash = series.dash || "none";
        if (series.pale) svg("path", { class: "edge", d }, curve);
        svg("path", { class: "line", d, "stroke-dasharray": dash }, curve);
        if (series.marker) this.drawMarkers(curve, series.marker, values, i);
      }
      this.fade();
    }

    points(values, first, last) {
      const { t } = this.data;
      const found = [];
      const origin = this.metric === "regret" && !this.log && first === 0;
      if (origin) found.push(`${this.x(0).toFixed(1)} ${this.y(0).toFixed(1)}`);
      for (let j = first; j <= last; j++) {
        if (values[j] !== null) found.push(`${this.x(t[j]).toFixed(1)} ${this.y(values[j]).toFixed(1)}`);
      }
      return found;
    }

    /** Evenly over the width, each curve a little further on, so that they do not hide each other. */
    drawMarkers(curve, marker, values, i) {
      const { t } = this.data;
      const [first, last] = this.part;
      const shift = (((i * 3) % 8) + 0.5) / 8;
      let j = first;
      for (let k = 0; k < MARKERS; k++) {
        const pixel = MARGIN.left + ((k + shift) / MARKERS) * this.width;
        while (j < last && this.x(t[j + 1]) <= pixel) j++;
        if (j >= last || values[j] === null || values[j + 1] === null) continue;
        const [from, to] = [this.x(t[j]), this.x(t[j + 1])];
        if (pixel < from) continue;
        const share = (pixel - from) / (to - from || 1);
        const y = this.y(values[j]) + share * (this.y(values[j + 1]) - this.y(values[j]));
        svg("use", { class: "marker", href: `#mark-${marker}`, transform: `translate(${pixel.toFixed(1)} ${y.toFixed(1)})` }, curve);
      }
    }

    fade() {
      for (const node of this.svg.querySelectorAll("[data-series]")) {
        const on = this.focus === null || this.hidden.has(this.focus) || Number(node.dataset.series) === this.focus;
        node.classList.toggle("faded", !on);
      }
    }

    drawCursor() {
      const layer = this.layers.cursor;
      layer.replaceChildren();
      const { t } = this.data;
      const at = this.cursor === null ? t.length - 1 : this.cursor;
      const name = this.metric === "regret" ? "mean" : "share";
      if (this.cursor !== null) {
        const x = this.x(t[at]).toFixed(1);
        svg("line", { x1: x, x2: x, y1: MARGIN.top, y2: MARGIN.top + this.height }, layer);
        this.series.forEach((series, i) => {
          if (this.hidden.has(i) || !series[name] || series[name][at] === null) return;
          const [from, to] = this.range;
          if (series[name][at] < from || series[name][at] > to) return;
          const dot = svg("circle", { cx: x, cy: this.y(series[name][at]).toFixed(1), r: 4.5 }, layer);
          dot.style.setProperty("--c", series.colour);
        });
      }
      const what = this.metric === "regret" ? "Mean regret, and its quartiles," : "Share of pulls of a best arm";
      this.when.textContent = `${what} at time ${group(String(t[at]))}`;
      this.series.forEach((series, i) => {
        const { entry, value } = this.entries[i];
        entry.setAttribute("aria-pressed", !this.hidden.has(i));
        const values = series[name];
        value.textContent = values ? METRICS[this.metric].show(values[at]) : "";
        if (this.metric === "regret" && series.q25) {
          value.append(html("small", {}, ` ${show(series.q25[at])}–${show(series.q75[at])}`));
        }
      });
    }

    speak() {
      const name = this.metric === "regret" ? "mean" : "share";
      const values = this.series
        .filter((series, i) => !this.hidden.has(i) && series[name])
        .map((series) => `${series.label} ${METRICS[this.metric].show(series[name][this.cursor])}`);
      this.spoken.textContent = `Time ${this.data.t[this.cursor]}: ${values.join(", ")}`;
    }
  }

  // ---- Tables

  function sortable(table) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    const value = (row, column) => {
      const cell = row.cells[column];
      if (cell.dataset.value === undefined) return cell.textContent.trim();
      return cell.dataset.value === "" ? null : Number(cell.dataset.value);
    };
    const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a < b ? -1 : Number(a > b));
    heads.forEach((head, column) => {
      if (head.dataset.fixed !== undefined) return;
      const button = html("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
        for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", direction);
        const sign = direction === "ascending" ? 1 : -1;
        const rows = [...body.rows].map((row) => [value(row, column), row]);
        rows.sort(([a], [b]) => (a === null || b === null ? Number(a === null) - Number(b === null) : sign * compare(a, b)));
        body.append(...rows.map(([, row]) => row)); // what is missing stays last
      });
    });
  }

  // ---- Copying

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = html("textarea", { class: "unseen" }, text);
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  function copyable(block) {
    const button = html("button", { type: "button", class: "copy" }, "Copy");
    button.addEventListener("click", async () => {
      const done = await copy(block.querySelector("pre").textContent);
      button.textContent = done ? "Copied" : "Press Ctrl+C";
      if (!done) getSelection().selectAllChildren(block.querySelector("pre"));
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    });
    block.append(button);
  }

  // ---- The section in view

  function follow(links) {
    const byTarget = new Map(links.map((link) => [document.getElementById(link.hash.slice(1)), link]));
    const observer = new IntersectionObserver(
      (seen) => {
        for (const { target, isIntersecting } of seen) {
          if (!isIntersecting) continue;
          links.forEach((link) => link.removeAttribute("aria-current"));
          const link = byTarget.get(target);
          link.setAttribute("aria-current", "true");
          const list = link.closest("ul"); // not scrollIntoView, which would move the page too
          list.scrollLeft = link.offsetLeft - (list.clientWidth - link.offsetWidth) / 2;
        }
      },
      { rootMargin: "-15% 0px -75% 0px" },
    );
    for (const target of byTarget.keys()) if (target) observer.observe(target);
  }

  document.querySelectorAll(".figure").forEach((root, i) => new Figure(root, i));
  document.querySelectorAll("table.sortable").forEach(sortable);
  document.querySelectorAll(".code").forEach(copyable);
  follow([...document.querySelectorAll("nav a")]);

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((details) => { details.open = false; }));
})();
