"use strict";
// Keeps the page as the server has it. Without this script the page is the same, only not live.

const page = document.getElementById("page");
const fresh = document.getElementById("fresh");

// --- what the server renders again takes the place of what is there, and what a person has opened or typed stays ------

function parse(html) {
  return new DOMParser().parseFromString(html, "text/html").body;
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE && node.id ? node.id : null;
}

function update(old, made) {
  if (old.nodeType !== made.nodeType || old.nodeName !== made.nodeName || keyOf(old) !== keyOf(made)) {
    old.replaceWith(made);
  } else if (old.nodeType === Node.ELEMENT_NODE) {
    for (const { name } of [...old.attributes])
      if (!made.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
    for (const { name, value } of made.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    updateChildren(old, made);
  } else if (old.nodeValue !== made.nodeValue) {
    old.nodeValue = made.nodeValue;
  }
}

function updateChildren(old, made) {
  const known = new Map([...old.childNodes].filter(keyOf).map((node) => [node.id, node]));
  let place = old.firstChild;
  for (const child of [...made.childNodes]) {
    const key = keyOf(child);
    const match = key && known.has(key) ? known.get(key) : !key && place && !keyOf(place) ? place : null;
    if (match === null) {
      old.insertBefore(child, place);
      continue;
    }
    if (match !== place) old.insertBefore(match, place);
    place = match.nextSibling;
    update(match, child);
  }
  while (place !== null) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

// --- times as people read them ---------------------------------------------------------------------------------------

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

function ago(moment) {
  const seconds = Math.max(0, Math.round((Date.now() - moment) / 1000));
  const [size, unit] = UNITS.find(([each]) => seconds >= each) ?? [1, "s"];
  return seconds < 2 ? "just now" : `${Math.floor(seconds / size)} ${unit} ago`;
}

function showTimes() {
  for (const time of document.querySelectorAll("main time[datetime]")) {
    const text = ago(Date.parse(time.dateTime));
    if (time.title === "") time.title = `${time.textContent} UTC`;
    if (time.textContent !== text) time.textContent = text;
  }
}

// --- live ------------------------------------------------------------------------------------------------------------

function show(message) {
  for (const [name, html] of Object.entries(message.sections)) {
    const section = document.getElementById(name);
    if (section !== null) updateChildren(section, parse(html));
  }
  page.dataset.version = message.version;
  document.title = message.title;
  showTimes();
  showState(`live, ${new Date().toLocaleTimeString()}`, false);
}

function showState(text, lost) {
  fresh.textContent = text;
  fresh.classList.toggle("lost", lost);
}

function listen() {
  const events = new EventSource(`/events?version=${page.dataset.version}`);
  events.addEventListener("page", (event) => show(JSON.parse(event.data)));
  events.addEventListener("open", () => showState("live", false));
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) {
      showState("not live: liza serve has ended, or was started again with another address", true);
      setTimeout(listen, 15000);
    } else showState("not live: connecting again", true);
  });
}

// --- decisions -------------------------------------------------------------------------------------------------------

async function decide(form) {
  const output = form.querySelector("output");
  const buttons = form.querySelectorAll("button");
  buttons.forEach((button) => (button.disabled = true));
  output.textContent = "running …";
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      headers: { Accept: "application/json" },
    });
    const done = await answer.json();
    output.textContent = [done.command, done.output].filter(Boolean).join("\n");
    output.className = done.done ? "done" : "refused";
    if (done.done) form.reset();
    else form.elements.code.value = "";
  } catch (error) {
    output.textContent = `no answer from liza serve: ${error.message}`;
    output.className = "refused";
  }
  buttons.forEach((button) => (button.disabled = false));
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  decide(event.target);
});

if (fresh !== null && fresh.dataset.live) {
  showTimes();
  setInterval(showTimes, 1000);
  listen();
}
