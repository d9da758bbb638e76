// Small helps for people with a script engine; every page reads and works without them. Text is only ever set as text.
"use strict";

// A form that takes something away asks first.
document.addEventListener("submit", (event) => {
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});

// Times in the reader's own zone.
for (const time of document.querySelectorAll("time[datetime]")) {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime())) continue;
  const told = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  if (time.title) time.title = told;
  else time.textContent = told;
}

// "/" goes to the search field, j and k from one hit to the next, Escape leaves the field.
const typing = (target) => target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && typing(event.target)) event.target.blur();
  if (typing(event.target)) return;
  if (event.key === "/") {
    const field = document.querySelector("input[type=search]");
    if (field) { event.preventDefault(); field.focus(); field.select(); }
  } else if (event.key === "j" || event.key === "k") {
    const links = [...document.querySelectorAll("[data-step]")];
    const here = links.indexOf(document.activeElement);
    const next = links[event.key === "j" ? here + 1 : Math.max(0, here - 1)];
    if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
  }
});

// Type-ahead: the server answers {"items": [{"text", "address", "what"}]}; arrows choose, Enter goes there.
for (const field of document.querySelectorAll("input[data-suggest]")) {
  const list = document.createElement("ul");
  list.className = "suggestions"; list.hidden = true; list.id = field.id + "-suggestions";
  list.setAttribute("role", "listbox"); list.setAttribute("aria-label", "Suggestions");
  field.parentElement.append(list);
  for (const [name, value] of [["role", "combobox"], ["aria-expanded", "false"], ["aria-controls", list.id], ["aria-autocomplete", "list"], ["autocomplete", "off"]]) field.setAttribute(name, value);
  let asked = 0, waiting, chosen = -1;
  const close = () => {  // an answer that comes later opens nothing
    clearTimeout(waiting); asked++;
    list.hidden = true; chosen = -1; field.setAttribute("aria-expanded", "false"); field.removeAttribute("aria-activedescendant");
  };
  const mark = (links) => links.forEach((link, n) => {
    link.setAttribute("aria-selected", String(n === chosen));
    if (n === chosen) field.setAttribute("aria-activedescendant", link.id);
  });
  const show = (items) => {
    list.replaceChildren(...items.map((item, n) => {
      const row = document.createElement("li"), link = document.createElement("a"), what = document.createElement("span");
      row.setAttribute("role", "presentation");
      link.href = new URL(item.address, location.origin).pathname + new URL(item.address, location.origin).search;
      link.id = list.id + "-" + n; link.setAttribute("role", "option"); link.tabIndex = -1;
      what.className = "muted small"; what.textContent = " " + item.what;
      link.append(item.text, what); row.append(link); return row;
    }));
    chosen = -1; list.hidden = items.length === 0; field.setAttribute("aria-expanded", String(items.length > 0));
  };
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    const text = field.value.trim();
    if (text.length < 2) { close(); return; }
    waiting = setTimeout(async () => {
      const mine = ++asked;
      try {
        const answer = await fetch(field.dataset.suggest + "?q=" + encodeURIComponent(text), { headers: { Accept: "application/json" } });
        if (answer.ok && !answer.redirected && mine === asked) show((await answer.json()).items);
      } catch { close(); }
    }, 120);
  });
  field.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    if (event.key === "Escape") { close(); return; }
    if (list.hidden || links.length === 0) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      chosen = event.key === "ArrowDown" ? (chosen + 1) % links.length : (chosen <= 0 ? links.length : chosen) - 1;
      mark(links);
    } else if (event.key === "Enter" && chosen >= 0) { event.preventDefault(); links[chosen].click(); }
  });
  field.parentElement.addEventListener("focusout", (event) => { if (!list.contains(event.relatedTarget)) close(); });
  list.addEventListener("mousedown", (event) => event.preventDefault());  // the field keeps the focus while one clicks
  document.addEventListener("click", (event) => { if (!field.parentElement.contains(event.target)) close(); });
}

// A project that nothing belongs to yet is told while it is typed.
for (const field of document.querySelectorAll("input[data-known]")) {
  const known = new Set([...document.getElementById(field.dataset.known).options].map((option) => option.value));
  const told = document.getElementById(field.getAttribute("aria-describedby"));
  const tell = () => { told.hidden = !field.value.trim() || known.has(field.value.trim()) || known.size >= 200; };  // 200: not all are listed
  field.addEventListener("input", tell); tell();
}

// Back to the form that was refused, as it was filled in.
for (const link of document.querySelectorAll("a[data-back]")) {
  link.addEventListener("click", (event) => {
    if (history.length < 2 || !document.referrer.startsWith(location.origin + "/")) return;
    event.preventDefault(); history.back();
  });
}

// A link to a field that is folded away opens it.
const unfold = () => {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  const fold = target && target.closest("details");
  if (fold && !fold.open) { fold.open = true; target.scrollIntoView(); }
};
addEventListener("hashchange", unfold); unfold();

// Copy the text of another element.
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.addEventListener("click", async () => {
    const from = document.getElementById(button.dataset.copy);
    if (!from || !navigator.clipboard) return;
    await navigator.clipboard.writeText(from.textContent);
    button.textContent = "Copied";
  });
}
