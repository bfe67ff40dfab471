// A bandit from JavaScript, in a browser or in Node: which button to show, and whether it was clicked.
//   LASTBLOCK_URL=http://localhost:8000 LASTBLOCK_KEY=lb_… node button.mjs
// In a browser use a key that can only ask and tell, for this one bandit, and let a proxy show the
// service under your page's own origin.

const url = process.env.LASTBLOCK_URL;
const key = process.env.LASTBLOCK_KEY;

async function call(method, path, body, { headers = {}, timeout = 1000 } = {}) {
  const answer = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeout),
  });
  if (answer.status === 204) return null;
  const value = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(value.detail), { status: answer.status, type: value.type });
  return value;
}

/** Which arm to use; the fallback if the service does not answer in time, or cannot now. */
async function decide(bandit, fallback) {
  const again = { headers: { "Idempotency-Key": crypto.randomUUID() }, timeout: 200 };
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      return await call("POST", `/v1/bandits/${encodeURIComponent(bandit)}/decisions`, {}, again);
    } catch (error) {
      const isPaused = error.type === "urn:lastblock:problem:paused";
      const isOutage = !error.status || error.status === 429 || error.status >= 500;
      if (!isPaused && !isOutage) throw error; // a mistake of ours, which would come every time
      console.warn(`no decision: ${error.message}`);
    }
  }
  return { arm: fallback, token: null, payload: null };
}

/** Tell the reward of a decision; a fallback has none to tell. */
async function reward(decision, value) {
  if (decision.token !== null) {
    await call("PUT", `/v1/decisions/${decision.token}/reward`, { reward: value });
  }
}

const arms = ["plain", { label: "bold", payload: { css: "font-weight: bold" } }];
await call("POST", "/v1/bandits", { name: "button", arms, policy: "LBSDAGM" }, { timeout: 10000 });
for (let visitor = 0; visitor < 20; visitor++) {
  const shown = await decide("button", "plain");
  await reward(shown, shown.arm === "bold" && visitor % 3 === 0 ? 1 : 0);
}
const found = await fetch(`${url}/v1/bandits/button`, { headers: { Authorization: `Bearer ${key}` } });
console.log((await found.json()).arms.map((arm) => `${arm.label}: ${arm.pulls}`).join(", "));
