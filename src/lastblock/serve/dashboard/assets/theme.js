// Loaded before the page is drawn, so that it does not flash in the other colours.
"use strict";
try {
  const chosen = localStorage.getItem("lastblock-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch { /* a browser that keeps nothing: the system's choice holds */ }
