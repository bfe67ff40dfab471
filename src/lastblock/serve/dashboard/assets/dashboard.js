// What moves on the pages: the theme, live figures, the log of events. Everything works without it,
// except charts and what is live.
"use strict";

(() => {
  const base = document.body.dataset.base;

  // Dark mode: the system's choice, until somebody presses the button.
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const show = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    if (window.lastblockCharts) window.lastblockCharts.redraw();
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    const chosen = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    try { localStorage.setItem("lastblock-theme", chosen); } catch { /* it holds for this page */ }
    show();
  });
  system.addEventListener("change", show);
  show();

  // A bandit's page: charts at once, and everything again when the server says that it has changed.
  const pulse = document.getElementById("pulse");
  if (pulse) {
    const one = `${base}/bandits/${pulse.dataset.of}`;
    let isBusy = false, isWanted = false;

    const charts = async () => {
      const answer = await fetch(`${one}/history`, { headers: { Accept: "application/json" } });
      if (!answer.ok) return;
      const data = await answer.json();
      tell(data);
      for (const box of document.querySelectorAll("[data-chart]")) {
        if (box.matches(":hover")) continue; // somebody is reading it
        window.lastblockCharts.draw(box, data, box.dataset.chart);
      }
    };
    // What happened to arms and floors, and the changes, in words: the latest first.
    const tell = (data) => {
      const list = document.getElementById("milestones");
      const found = [
        ...data.milestones,
        ...data.changes.filter((each) => each.time !== null).map(({ time, text }) => ({ time, text })),
      ].sort((a, b) => b.time - a.time).slice(0, 8);
      list.hidden = !found.length;
      list.replaceChildren(...found.map(({ time, text }) => {
        const row = document.createElement("li"), when = document.createElement("time");
        const words = document.createElement("span");
        const at = new Date(1000 * time);
        when.dateTime = at.toISOString();
        when.textContent = at.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: data.length < 60 ? "medium" : "short" });
        words.append(Object.assign(document.createElement("bdi"), { textContent: text }));
        row.append(when, " ", words);
        return row;
      }));
    };
    const figures = async () => {
      const answer = await fetch(`${one}/part`);
      if (!answer.ok || answer.redirected) return;
      // Made by the server, which escapes all labels.
      const made = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const id of ["figures", "details"]) {
        const old = document.getElementById(id), fresh = made.getElementById(id);
        const label = old.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
        old.replaceWith(document.adoptNode(fresh));
        if (label) fresh.querySelector(`[aria-label="${CSS.escape(label)}"]`)?.focus();
      }
    };
    const refresh = async () => {
      if (isBusy) { isWanted = true; return; }
      isBusy = true;
      try {
        do {
          isWanted = false;
          await Promise.all([charts(), figures()]);
        } while (isWanted);
      } catch { /* the server is away; the stream tries again */ } finally { isBusy = false; }
    };
    charts();
    const stream = new EventSource(`${one}/pulse`);
    stream.addEventListener("changed", refresh);
    stream.addEventListener("open", () => { pulse.querySelector("span[hidden]")?.removeAttribute("hidden"); });
    addEventListener("pagehide", () => stream.close());
  }

  // Tables that follow what happens, while somebody looks.
  const followed = document.querySelector("[data-refresh]");
  if (followed) {
    const look = async () => {
      const table = document.getElementById(followed.id);
      if (document.hidden || table.contains(document.activeElement) || table.matches(":hover")) return;
      try {
        const answer = await fetch(location.href);
        if (!answer.ok || answer.redirected) return;
        const made = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = made.getElementById(followed.id); // made by the server, which escapes all labels
        if (fresh) table.replaceWith(document.adoptNode(fresh));
      } catch { /* the server is away; the next look tries again */ }
    };
    setInterval(look, 5000);
  }

  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

  // The page of events: new ones at the top, the oldest go.
  const log = document.getElementById("log");
  if (log) {
    const MOST = 300;
    const rows = log.querySelector("tbody"), state = document.getElementById("log-state");
    let waiting = [];
    const cell = (text, isLeft, tag) => {
      const made = document.createElement("td");
      if (isLeft) made.className = "left";
      const inner = tag ? made.appendChild(document.createElement(tag)) : made;
      inner.textContent = text === null || text === undefined ? "" : String(text);
      return made;
    };
    const flush = () => {
      const fresh = waiting.slice(-MOST).reverse().map((event) => {
        const row = document.createElement("tr");
        const time = String(event.time).replace(/\.\d+/, "");
        row.append(
          cell(event.event), cell(time, true, "time"), cell(event.kind, true), cell(event.id),
          cell(event.arm, true, "bdi"), cell(event.value),
        );
        return row;
      });
      waiting = [];
      rows.prepend(...fresh);
      while (rows.children.length > MOST) rows.lastElementChild.remove();
    };
    const take = (message) => {
      if (!waiting.length) setTimeout(flush, 250);
      waiting.push(JSON.parse(message.data));
      if (waiting.length > 2 * MOST) waiting = waiting.slice(-MOST);
    };
    const stream = new EventSource(`${base}/bandits/${log.dataset.of}/events?after=${log.dataset.last}`);
    for (const kind of log.dataset.kinds.split(" ")) stream.addEventListener(kind, take);
    stream.addEventListener("error", () => { state.textContent = "The server is away; trying again …"; });
    stream.addEventListener("open", () => { state.textContent = "Live: new events come by themselves."; });
    addEventListener("pagehide", () => stream.close());
  }
})();
