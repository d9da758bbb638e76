// The live log: lines come by server-sent events and are set as text. Without a script the page shows the last lines.
"use strict";
(() => {
  const MOST = 500;
  const GROUPS = { prompt: "said", answer: "said", thought: "said", summary: "said", intervention: "said", compaction: "said",
    call: "done", edit: "done", "test run": "done", result: "done", error: "done", retry: "done",
    memory: "made", gist: "made", task: "made", told: "told", context: "told" };

  const clock = (at) => (at.toDateString() === new Date().toDateString()
    ? at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" })
    : at.toLocaleString(undefined, { month: "short", day: "2-digit", hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).replace(",", ""));
  const made = (tag, kind, text) => {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const linked = (element, address) => {
    const to = new URL(address, location.origin);
    if (to.origin === location.origin) element.href = to.pathname + to.search + to.hash;
    return element;
  };
  const short = (text, most) => (text.length > most ? text.slice(0, most - 1).trimEnd() + "…" : text);

  // What an agent was told is one line; its text, as the agent received it, is inside.
  const folded = (line) => {
    const said = made("details", "said");
    const whole = made("pre", "whole", line.text);
    whole.tabIndex = 0;
    said.append(made("summary", "", line.headline), whole);
    if (line.what === "told" && !line.exact) said.append(made("p", "small muted", "The words of each memory; the text around them is not kept."));
    return said;
  };

  const rowOf = (line, named) => {
    const row = made("li", "line new is-" + line.what.replace(/[^a-z]/g, "-") + (line.failed ? " failed" : ""));
    const at = new Date(line.at), when = made("time", "when", clock(at)), what = made("span", "what");
    when.dateTime = line.at; when.title = at.toLocaleString();
    what.append(line.address ? linked(made("a", "", line.what), line.address) : line.what);
    const said = line.headline ? folded(line) : made("span", "said");
    if (line.note) (said.querySelector("summary") || said).prepend(made("span", "note", line.note), " ");
    if (!line.headline) said.append(short(line.text.replace(/\s+/g, " ").trim(), 400));
    row.append(when, " ", what, " ", said);
    if (line.session && named) row.append(" ", linked(made("a", "from", short(line.session, 28)), "/page/sessions/" + encodeURIComponent(line.session)));
    row.dataset.group = GROUPS[line.what] || "said";
    return row;
  };

  const follow = (box) => {
    const log = box.querySelector("[data-log]"), append = "append" in box.dataset;
    const state = document.querySelector("[data-state]"), dot = document.querySelector("[data-dot]");
    const kinds = document.querySelector("[data-kinds]");
    const hidden = new Set();
    let paused = false, waiting = [];
    const tell = (words, on) => { if (state) state.textContent = words; if (dot) dot.classList.toggle("on", on); };
    const add = (line) => {
      const row = rowOf(line, !append);
      row.hidden = hidden.has(row.dataset.group);
      log.querySelector(".none")?.remove();
      if (append) log.append(row); else log.prepend(row);
      while (log.children.length > MOST) (append ? log.firstElementChild : log.lastElementChild).remove();
    };
    for (const row of log.children) {
      const kind = [...row.classList].find((name) => name.startsWith("is-"));
      row.dataset.group = GROUPS[(kind || "").slice(3).replace("-", " ")] || "said";
      const when = row.querySelector("time.when");
      if (when) when.textContent = clock(new Date(when.dateTime));
    }
    if (kinds) {
      kinds.hidden = false;
      kinds.addEventListener("change", (event) => {
        if (event.target.checked) hidden.delete(event.target.value); else hidden.add(event.target.value);
        for (const row of log.children) row.hidden = hidden.has(row.dataset.group);
      });
      const pause = kinds.querySelector("[data-pause]");
      pause.addEventListener("click", () => {
        paused = !paused;
        pause.textContent = paused ? "Go on" : "Pause";
        pause.setAttribute("aria-pressed", String(paused));
        if (!paused) { waiting.forEach(add); waiting = []; }
      });
    }
    // A window nobody looks at lets go of its connection, and goes on from the last line when somebody does.
    let source, last = "";
    const connect = () => {
    const place = new URL(box.dataset.live, location.origin);
    if (last) place.searchParams.set("after", last);
    source = new EventSource(place);
    tell("Connecting …", false);
    source.addEventListener("open", () => tell(append ? "Following. New events appear below." : "Live", true));
    source.addEventListener("error", () => tell(source.readyState === EventSource.CLOSED ? "The stream has ended. Load the page again to go on." : "The connection was lost; trying again …", false));
    source.addEventListener("message", (event) => {
      const line = JSON.parse(event.data);
      last = event.lastEventId || last;
      if (paused) { waiting.push(line); if (waiting.length > MOST) waiting.shift(); } else add(line);
    });
    };
    connect();
    window.addEventListener("pagehide", () => source.close());
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) { source.close(); tell("Resting while nobody looks.", false); }
      else if (source.readyState === EventSource.CLOSED) connect();
    });
  };

  for (const box of document.querySelectorAll("[data-live]")) {
    const start = box.dataset.start && document.getElementById(box.dataset.start);
    if (!start) { follow(box); continue; }
    start.addEventListener("click", (event) => { event.preventDefault(); start.remove(); follow(box); }, { once: true });
  }
})();
