// Draws shares of traffic and mean rewards over time, with uPlot.
"use strict";

(() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const drawn = new Map();

  const percent = (value, digits = 3) =>
    value === null || value === undefined ? "–" : `${Number((100 * value).toPrecision(digits))}\u202f%`;
  const plain = (value) =>
    value === null || value === undefined ? "–" : String(Number(value.toPrecision(3)));

  // Marks of the points, the same as in tables; on a canvas.
  const SHAPES = {
    circle: "M5 0A5 5 0 1 1-5 0 5 5 0 1 1 5 0z",
    square: "M-4.5-4.5h9v9h-9z",
    up: "M0-5.6 5.4 4.2h-10.8z",
    down: "M0 5.6 5.4-4.2h-10.8z",
    diamond: "M0-6 6 0 0 6-6 0z",
    plus: "M-2-5.5h4v3.5h3.5v4h-3.5v3.5h-4v-3.5h-3.5v-4h3.5z",
    cross: "M0-2.8 2.9-5.7 5.7-2.9 2.8 0 5.7 2.9 2.9 5.7 0 2.8-2.9 5.7-5.7 2.9-2.8 0-5.7-2.9-2.9-5.7z",
    star: "M0-6.6 1.6-2.1 6.3-2 2.5.8 3.9 5.3 0 2.6-3.9 5.3-2.5.8-6.3-2-1.6-2.1z",
  };

  function look(arm) {
    if (!arm.mark) return { stroke: css("--soft"), dash: [2, 3], shape: null };
    const dash = arm.mark.dash.map((length) => 2 * length);
    return { stroke: css(`--c${arm.mark.colour}`), dash, shape: new Path2D(SHAPES[arm.mark.shape]) };
  }

  // About a dozen marks along a curve; all points if they are few. A point between gaps gets its
  // interval as a line, since a band has no width there, and stands beside those of other arms.
  function points(shape, colour, isRate, aside) {
    return (plot, series, first, last) => {
      const scale = (window.devicePixelRatio || 1) * 0.72;
      const every = Math.max(1, Math.ceil((last - first + 1) / 12));
      const { ctx } = plot;
      const xs = plot.data[0], ys = plot.data[series];
      ctx.save();
      ctx.fillStyle = colour;
      for (let i = first; i <= last; i += 1) {
        const alone = ys[i] !== null && ys[i] !== undefined && ys[i - 1] == null && ys[i + 1] == null;
        if (ys[i] == null || (i % every && !alone)) continue;
        const x = plot.valToPos(xs[i], "x", true) + (alone ? 12 * scale * aside : 0), [high, low] = [plot.data[series - 2], plot.data[series - 1]];
        if (alone && isRate && high[i] !== null && low[i] !== null) {
          const { top, height } = plot.bbox;
          const [from, to] = [high[i], low[i]].map((end) => Math.min(top + height, Math.max(top, plot.valToPos(end, "y", true))));
          ctx.fillRect(x - scale / 2, from, scale, to - from);
        }
        ctx.save();
        ctx.translate(x, plot.valToPos(ys[i], "y", true));
        ctx.scale(scale, scale);
        ctx.fill(shape);
        ctx.restore();
      }
      ctx.restore();
      return null;
    };
  }

  // Where words begin that belong to x: to the right of it if they fit, else to the left.
  function beginOf({ left, width: wide }, x, width, ratio) {
    const fits = x + width + 8 * ratio <= left + wide;
    return fits ? x + 5 * ratio : Math.max(left, x - width - 5 * ratio);
  }

  // Words on a chart, with a halo, since curves may run behind them.
  function write(ctx, words, x, y, colour, ratio) {
    ctx.save();
    ctx.setLineDash([]);
    ctx.lineJoin = "round";
    ctx.lineWidth = 4 * ratio;
    ctx.strokeStyle = css("--surface");
    ctx.strokeText(words, x, y);
    ctx.fillStyle = colour;
    ctx.fillText(words, x, y);
    ctx.restore();
  }

  // A line across the chart for every change, with the arm that gave it away; words that would run
  // into others go one line down, or are left to the list below the chart.
  const ROWS = 4;
  function changeMarks(changes, format) {
    return (plot) => {
      const { ctx, bbox } = plot;
      const ratio = window.devicePixelRatio || 1;
      const rows = Array.from({ length: ROWS }, () => []);
      ctx.save();
      ctx.font = `${12 * ratio}px system-ui, sans-serif`;
      for (const change of changes) {
        if (change.time === null) continue;
        const x = plot.valToPos(change.time, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.strokeStyle = css("--soft");
        ctx.setLineDash([4 * ratio, 4 * ratio]);
        ctx.lineWidth = ratio;
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
        const who = change.arm === null ? "" : `${change.arm.slice(0, 24)} `;
        const text = `${who}${format(change.old)} → ${format(change.new)}`;
        const width = ctx.measureText(text).width;
        const begin = beginOf(bbox, x, width, ratio), end = begin + width + 8 * ratio;
        const row = rows.findIndex((taken) => taken.every(([from, to]) => end <= from || to <= begin));
        if (row < 0 || width > bbox.width) continue;
        rows[row].push([begin, end]);
        ctx.textAlign = "left";
        write(ctx, text, begin, bbox.top + (13 + 15 * row) * ratio, css("--soft"), ratio);
      }
      ctx.restore();
    };
  }

  // A short line at the foot of the chart when arms came, went or were paused, or floors were set.
  function milestoneMarks(milestones) {
    return (plot) => {
      const { ctx, bbox } = plot;
      const ratio = window.devicePixelRatio || 1;
      const foot = bbox.top + bbox.height;
      let free = -Infinity;
      ctx.save();
      ctx.font = `${11 * ratio}px system-ui, sans-serif`;
      ctx.lineWidth = ratio;
      for (const { time, text } of milestones) {
        const x = plot.valToPos(time, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.strokeStyle = css("--accent");
        ctx.beginPath();
        ctx.moveTo(x, foot - 12 * ratio);
        ctx.lineTo(x, foot);
        ctx.stroke();
        const words = text.length > 28 ? `${text.slice(0, 27)}…` : text;
        const width = ctx.measureText(words).width;
        const begin = beginOf(bbox, x, width, ratio);
        if (begin < free || width > bbox.width) continue; // the list below the chart has it
        free = begin + width + 8 * ratio;
        ctx.textAlign = "left";
        write(ctx, words, begin, foot - 5 * ratio, css("--accent"), ratio);
      }
      ctx.restore();
    };
  }

  const MINUTE = 60, HOUR = 3600, DAY = 86400, MONTH = 30 * DAY, YEAR = 365 * DAY;
  const APART = 72; // as wide as a time with its seconds, and some space
  const LENGTHS = [
    ...[1, 5, 10, 15, 30], ...[1, 5, 10, 15, 30].map((n) => n * MINUTE), ...[1, 2, 3, 4, 6, 8, 12].map((n) => n * HOUR),
    ...[1, 2, 3, 5, 10, 15].map((n) => n * DAY), ...[1, 2, 3, 6].map((n) => n * MONTH), ...[1, 2, 5, 10, 25].map((n) => n * YEAR),
  ];

  // What the ticks of the axis of time say; the day or the year only where it is a new one.
  function timeWords(_, ticks, axis, space, length) {
    const [main, more] = length >= YEAR ? ["{YYYY}", ""] : length >= MONTH ? ["{MMM}", "{YYYY}"]
      : length >= DAY ? ["{D} {MMM}", "{YYYY}"] : [length >= MINUTE ? "{HH}:{mm}" : "{HH}:{mm}:{ss}", "{D} {MMM}"];
    let before = "";
    return ticks.map((tick) => {
      if (tick === null) return "";
      const date = new Date(1000 * tick), below = uPlot.fmtDate(more)(date);
      const words = uPlot.fmtDate(main)(date) + (below === before ? "" : `\n${below}`);
      before = below;
      return words;
    });
  }

  // Where the clocks are changed, two ticks can be closer together than all others.
  function withoutCrowd(plot, ticks) {
    let last = -Infinity;
    return ticks.map((tick) => {
      const at = plot.valToPos(tick, "x");
      if (at - last < 0.9 * APART) return null;
      last = at;
      return tick;
    });
  }

  function axes(format) {
    const common = { stroke: css("--soft"), grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--grid"), width: 1 } };
    const font = "12px system-ui, sans-serif";
    return [
      { ...common, font, space: APART, incrs: LENGTHS, values: timeWords, filter: withoutCrowd },
      { ...common, font, size: 58, values: (_, ticks) => ticks.map(format) },
    ];
  }

  function faint(colour, share) {
    const probe = document.createElement("canvas").getContext("2d");
    probe.fillStyle = colour;
    return probe.fillStyle + Math.round(255 * share).toString(16).padStart(2, "0");
  }

  // A scale for means and most intervals: a stretch with two rewards says nothing, in a large font.
  function rangeOf(arms) {
    const sorted = (name) => arms.flatMap((arm) => arm[name]).filter((value) => value !== null).sort((a, b) => a - b);
    const at = (values, share) => values[Math.round(share * (values.length - 1))];
    const [means, lows, highs] = ["mean", "low", "high"].map(sorted);
    if (!means.length) return [0, 1];
    const half = lows.length < 12 ? 0 : 0.5;
    let low = Math.min(at(means, 0.02), ...lows.length ? [at(lows, half)] : []);
    let high = Math.max(at(means, 0.98), ...highs.length ? [at(highs, 1 - half)] : []);
    if (low === high) [low, high] = [low - Math.abs(low) / 10 - 0.01, high + Math.abs(high) / 10 + 0.01];
    const isPositive = low >= 0;
    const room = (high - low) * 0.05;
    return [isPositive && low < high / 2 ? 0 : low - room, high + room];
  }

  // At least ten stretches. For a single one, uPlot asks for years.
  function widened(low, high, { times, length }) {
    if (times.length === 1) [low, high] = [times[0], times[0]];
    const room = Math.max(0, 10 * length - (high - low)) / 2;
    return [low - room, high + room];
  }

  function draw(box, data, kind) {
    const old = drawn.get(box);
    if (old) old.plot.destroy();
    box.replaceChildren();
    drawn.delete(box);
    if (!data.times.length) {
      const words = document.createElement("p");
      words.className = "quiet-note";
      words.textContent = "Nothing has happened yet.";
      box.append(words);
      return;
    }
    const isRate = kind === "mean";
    const all = data.arms.flatMap((arm) => [...arm.low, ...arm.high, ...arm.mean]).filter((value) => value !== null);
    const format = isRate && all.some((value) => value < 0 || value > 1) ? plain : (value) => percent(value);
    const series = [{ label: "Time", value: `{YYYY}-{MM}-{DD} {HH}:{mm}${data.length < 60 ? ":{ss}" : ""}` }];
    const columns = [data.times];
    const bands = [];
    for (const [place, arm] of data.arms.entries()) {
      const { stroke, dash, shape } = look(arm), aside = place - (data.arms.length - 1) / 2;
      const line = { label: arm.label, stroke, dash, width: 2, value: (_, value) => format(value) };
      line.points = shape ? { show: points(shape, stroke, isRate, aside) } : { show: false };
      if (isRate) {
        const edge = { show: true, width: 0, points: { show: false }, label: `${arm.label}, interval`, class: "edge" };
        series.push({ ...edge }, { ...edge });
        columns.push(arm.high, arm.low);
        bands.push({ series: [series.length - 2, series.length - 1], fill: faint(stroke, 0.13) });
      }
      series.push(line);
      columns.push(isRate ? arm.mean : arm.share);
    }
    const options = {
      width: box.clientWidth, height: 260, padding: [null, APART / 2, null, null], series, bands, axes: axes(format),
      scales: { x: { range: (_, low, high) => widened(low, high, data) }, y: { range: isRate ? rangeOf(data.arms) : [0, 1] } },
      cursor: { drag: { x: true, y: false } },
      legend: { live: true },
      hooks: { draw: [changeMarks(data.changes, format), milestoneMarks(data.milestones)] },
      ms: 1e-3,
    };
    const plot = new uPlot(options, columns, box);
    if (isRate) {
      plot.root.querySelectorAll(".u-legend .u-series").forEach((row, i) => { row.hidden = series[i].class === "edge"; });
    }
    drawn.set(box, { plot, data, kind });
  }

  function redraw() {
    for (const [box, { data, kind }] of [...drawn]) draw(box, data, kind);
  }

  new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const old = drawn.get(target);
      if (old && Math.abs(old.plot.width - target.clientWidth) > 1) old.plot.setSize({ width: target.clientWidth, height: 260 });
    }
  }).observe(document.body);

  window.lastblockCharts = { draw, redraw };
})();
