// Receives fragments and puts them in place; pan, zoom, keyboard, history. The pages work without it.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const body = document.body;
  let zoom = 1;

  // Fragments: change only what differs, so that focus, what was typed, open details and scroll positions stay.
  const held = new Map();
  const typing = (el) => {
    const at = document.activeElement;
    return at && el.contains(at) && at.matches("textarea, input[type=text]") && at.value !== "";
  };
  // What a node is known by among its siblings: tasks and waves keep their elements while they move.
  const key = (node) => node.id || node.dataset?.task || node.getAttribute?.("aria-label") || (node.nodeName === "LI" && node.firstElementChild?.dataset.task) || "";
  const alike = (a, b) => a.nodeName === b.nodeName && key(a) === key(b);
  function match(el, to) {
    if (el.isEqualNode(to)) return;
    if (el.nodeType !== 1) { el.nodeValue = to.nodeValue; return; }
    for (const { name } of [...el.attributes]) if (!to.hasAttribute(name) && !(name === "open" && el.id)) el.removeAttribute(name);
    for (const { name, value } of to.attributes) if (el.getAttribute(name) !== value) el.setAttribute(name, value);
    if (el.matches("[data-history]") && el !== document.activeElement) el.value = to.value;
    // The page fills these itself.
    if (el.id !== "edges" && !el.dataset.since) matchChildren(el, to);
  }
  function matchChildren(el, to) {
    let at = el.firstChild;
    for (const wanted of [...to.childNodes]) {
      let found = at;
      while (found && !alike(found, wanted)) found = key(wanted) ? found.nextSibling : null;
      while (found && at !== found) { const gone = at; at = at.nextSibling; gone.remove(); }
      if (found) { at = found.nextSibling; match(found, wanted); } else el.insertBefore(wanted, at);
    }
    while (at) { const gone = at; at = at.nextSibling; gone.remove(); }
  }
  function put(id, html) {
    const el = $(id);
    if (!el) return;
    if (typing(el)) { held.set(id, html); return; }
    held.delete(id);
    const focus = el.contains(document.activeElement) ? document.activeElement.id : "";
    const ends = [...el.querySelectorAll("[data-scroll=end]")].filter((s) => s.scrollHeight - s.scrollTop - s.clientHeight < 8).map((s) => s.id);
    const made = document.createElement("template");
    made.innerHTML = html;
    matchChildren(el, made.content);
    for (const end of ends) { const s = $(end); if (s) s.scrollTop = s.scrollHeight; }
    if (focus && document.activeElement?.id !== focus) $(focus)?.focus({ preventScroll: true });
    dress(el);
  }
  // Only the latest of what arrives between two frames is shown, and drawing takes a third of the time at most: a slow browser
  // never falls behind. A hidden page draws nothing.
  const waiting = new Map();
  let due = false, rest = 0;
  function soon() {
    if (due) return;
    due = true;
    setTimeout(() => requestAnimationFrame(() => {
      const began = performance.now(), parts = [...waiting];
      waiting.clear();
      for (const [id, html] of parts) put(id, html);
      rest = 2 * (performance.now() - began);
      due = false;
      if (waiting.size) soon();
    }), rest);
  }
  addEventListener("focusout", () => setTimeout(() => { for (const [id, html] of [...held]) put(id, html); }));

  // Edges between the cards that are shown.
  function edges() {
    const board = $("board-cards"), svg = $("edges");
    if (!board || !svg) return;
    const cards = new Map([...board.querySelectorAll("[data-task]")].map((c) => [c.dataset.task, c]));
    const origin = board.getBoundingClientRect(), scale = zoom || 1;
    const at = (c) => { const r = c.getBoundingClientRect(); return [(r.left - origin.left) / scale, (r.right - origin.left) / scale, (r.top + r.height / 2 - origin.top) / scale]; };
    const parts = document.createDocumentFragment();
    for (const [id, card] of cards) {
      for (const from of (card.dataset.after || "").split(" ")) {
        const source = cards.get(from);
        if (!source) continue;
        const [, x1, y1] = at(source), [x2, , y2] = at(card), mid = (x1 + x2) / 2;
        const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        path.setAttribute("d", `M${x1},${y1} C${mid},${y1} ${mid},${y2} ${x2},${y2}`);
        path.dataset.from = from;
        path.dataset.to = id;
        parts.append(path);
      }
    }
    svg.replaceChildren(parts);
  }
  // A board that changes all the time gets its edges four times a second.
  let edgesDue = 0;
  function edgesSoon() { edgesDue ||= setTimeout(() => { edgesDue = 0; edges(); }, $("edges")?.firstChild ? 250 : 0); }
  function light(card, on) {
    const id = card.dataset.task;
    for (const path of document.querySelectorAll("#edges path")) {
      if (path.dataset.from === id || path.dataset.to === id) {
        path.classList.toggle("lit", on);
        const other = path.dataset.from === id ? path.dataset.to : path.dataset.from;
        document.querySelector(`[data-task="${CSS.escape(other)}"]`)?.classList.toggle("lit", on);
      }
    }
  }
  for (const [kind, on] of [["mouseover", true], ["focusin", true], ["mouseout", false], ["focusout", false]]) {
    addEventListener(kind, (e) => { const c = e.target.closest?.("[data-task]"); if (c) light(c, on); });
  }

  // Times that pass.
  function clock() {
    const now = Date.now() - Number(body.dataset.skew || 0);
    for (const el of document.querySelectorAll("time[data-since]")) {
      const s = Math.max(0, Math.floor((now - Number(el.dataset.since)) / 1000));
      el.textContent = s < 60 ? `${s}s` : s < 3600 ? `${Math.floor(s / 60)}m ${String(s % 60).padStart(2, "0")}s` : `${Math.floor(s / 3600)}h ${String(Math.floor(s / 60) % 60).padStart(2, "0")}m`;
    }
  }
  if (body.dataset.now) body.dataset.skew = Date.now() - Number(body.dataset.now);

  // Zoom and pan.
  function setZoom(to) {
    zoom = Math.min(1.6, Math.max(0.3, to));
    document.documentElement.style.setProperty("--zoom", zoom);
    showZoom();
    edges();
  }
  function showZoom() { for (const b of document.querySelectorAll("[data-zoom='0']")) b.textContent = `${Math.round(100 * zoom)} %`; }
  addEventListener("click", (e) => {
    const zoomBy = e.target.closest?.("[data-zoom]");
    if (zoomBy) setZoom(zoomBy.dataset.zoom === "0" ? 1 : zoom * Number(zoomBy.dataset.zoom));
    const ask = e.target.closest?.("[data-notify]");
    if (ask && "Notification" in window) Notification.requestPermission().then(() => { ask.hidden = true; });
  });
  let drag = null;
  addEventListener("pointerdown", (e) => {
    const wrap = e.target.closest?.("#board-wrap");
    if (wrap && !e.target.closest("a, button") && e.button === 0) drag = [wrap, e.clientX + wrap.scrollLeft, e.clientY + wrap.scrollTop];
  });
  addEventListener("pointermove", (e) => { if (drag) { drag[0].scrollLeft = drag[1] - e.clientX; drag[0].scrollTop = drag[2] - e.clientY; } });
  addEventListener("pointerup", () => { drag = null; });

  // Keyboard: / search, + - 0 zoom, arrows between cards.
  addEventListener("keydown", (e) => {
    if (e.target.matches?.("input, textarea, select") || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "/") { const s = $("search"); if (s) { s.focus(); e.preventDefault(); } }
    else if (e.key === "+") setZoom(zoom * 1.2);
    else if (e.key === "-") setZoom(zoom / 1.2);
    else if (e.key === "0") setZoom(1);
    else if (e.key.startsWith("Arrow") && e.target.matches("[data-task]")) {
      const item = e.target.closest("li"), column = e.target.closest(".wave");
      let next = null;
      if (e.key === "ArrowDown") next = item.nextElementSibling;
      else if (e.key === "ArrowUp") next = item.previousElementSibling;
      else {
        const other = e.key === "ArrowRight" ? column?.nextElementSibling : column?.previousElementSibling;
        const items = other ? [...other.querySelectorAll("li")] : [];
        // The result of a filter has no columns.
        if (!column) next = e.key === "ArrowRight" ? item.nextElementSibling : item.previousElementSibling;
        else next = items[Math.min(items.length - 1, [...item.parentNode.children].indexOf(item))];
      }
      const link = next?.querySelector("[data-task]");
      if (link) { link.focus(); e.preventDefault(); }
    }
  });

  // Forms that filter apply as you choose; the history slider fetches the state at an event.
  addEventListener("change", (e) => { if (e.target.closest?.("form[data-auto]") && e.target.matches("select, input[type=checkbox]")) e.target.form.requestSubmit(); });
  let seek = 0;
  addEventListener("input", (e) => {
    const slider = e.target.closest?.("[data-history]");
    if (!slider) return;
    const at = slider.value, mine = ++seek;
    $("history-at").textContent = at;
    setTimeout(async () => {
      if (mine !== seek) return;
      const url = new URL(location.href);
      if (at === slider.max) url.searchParams.delete("at"); else url.searchParams.set("at", at);
      const frag = new URL(url.pathname.replace(/\/$/, "") + "/fragments" + url.search, location.href);
      const answer = await fetch(frag, { headers: { accept: "application/json" } });
      if (!answer.ok || mine !== seek) return;
      stop();
      waiting.clear();
      for (const [id, html] of Object.entries(await answer.json())) put(id, html);
      history.replaceState(null, "", url);
      body.dataset.stream = url.pathname.replace(/\/$/, "") + "/stream" + url.search;
      if (at === slider.max) connect();
    }, 60);
  });

  // The live stream. Reconnects by itself, and says when the connection is lost.
  let source = null, wait = 500;
  const say = (state, text) => { const el = $("link-state"); if (el) { el.dataset.state = state; el.textContent = text; } };
  function stop() { source?.close(); source = null; }
  function connect() {
    if (!body.dataset.stream || !window.EventSource) return;
    stop();
    source = new EventSource(body.dataset.stream);
    source.onopen = () => { wait = 500; say("live", "Live"); };
    source.addEventListener("fragments", (e) => { for (const [id, html] of Object.entries(JSON.parse(e.data))) waiting.set(id, html); soon(); });
    source.addEventListener("ask", (e) => {
      if ("Notification" in window && Notification.permission === "granted" && document.hidden) new Notification("wavecrew asks", { body: e.data, tag: e.data });
      document.title = "● " + document.title.replace(/^● /, "");
    });
    source.addEventListener("ended", (e) => { stop(); say("ended", e.data); });
    source.addEventListener("goto", (e) => { location.assign(e.data); });
    source.onerror = () => {
      stop();
      say("lost", "Connection lost, trying again");
      setTimeout(async () => {
        // A server that refuses us says why on a page of its own.
        const alive = await fetch("/alive").catch(() => null);
        if (alive && (alive.status === 401 || alive.status === 403)) location.reload(); else connect();
      }, wait);
      wait = Math.min(wait * 1.6, 5000);
    };
  }

  function dress(el) {
    for (const s of el.querySelectorAll("[data-scroll=end]")) if (!s.dataset.seen) { s.dataset.seen = "1"; if (!s.scrollTop) s.scrollTop = s.scrollHeight; }
    for (const b of el.querySelectorAll("[data-notify]")) b.hidden = !("Notification" in window) || Notification.permission !== "default";
    if (el.querySelector("#board-cards") || el.closest?.("#board-cards")) edgesSoon();
    showZoom();
    clock();
  }
  dress(document);
  addEventListener("resize", edges);
  document.fonts?.ready.then(edges);
  setInterval(clock, 1000);
  connect();
})();
