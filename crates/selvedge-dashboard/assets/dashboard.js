// The script of every page: times in the reader's zone, keys, copying, saved views, comments on lines, and
// live updates. Without it every page works, and shows its state when it was loaded. It never makes markup
// out of text: what it puts into the page is the server's own page, fetched again.
"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));

  // Times: how long ago, and the exact moment in the local zone on hover.
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
  const ago = (seconds) =>
    seconds < 60 ? `${seconds} s ago` : seconds < 3600 ? `${Math.floor(seconds / 60)} min ago`
    : seconds < 86400 ? `${Math.floor(seconds / 3600)} h ago`
    : seconds < 172800 ? "1 day ago" : `${Math.floor(seconds / 86400)} days ago`;
  const times = () => {
    for (const time of all("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      const words = ago(Math.max(0, Math.floor((Date.now() - at) / 1000)));
      if (time.textContent !== words) time.textContent = words;
      time.title = `${exact.format(at)} (${time.dateTime})`;
    }
  };

  // Makes one tree like another, touching only what differs: focus, scrolling, what is typed and what
  // is unfolded stay.
  const key = (node) => (node.nodeType === 1 ? node.id || node.dataset.key || "" : "");
  const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && key(a) === key(b);
  const become = (now, then) => {
    if (now.nodeType !== 1) {
      if (now.nodeValue !== then.nodeValue) now.nodeValue = then.nodeValue;
      return;
    }
    if (now.nodeName === "TIME" && now.dateTime === then.dateTime) return;
    const keeps = (name) =>
      (name === "open" && now.nodeName === "DETAILS") || name === "title" && now.nodeName === "TIME" || name === "data-live"
      || (name === "checked" && now.nodeName === "INPUT");
    for (const { name } of Array.from(now.attributes)) {
      if (!then.hasAttribute(name) && !keeps(name)) now.removeAttribute(name);
    }
    for (const { name, value } of Array.from(then.attributes)) {
      if (now.getAttribute(name) !== value && !keeps(name)) now.setAttribute(name, value);
    }
    if (["INPUT", "TEXTAREA", "SELECT"].includes(now.nodeName)) return;
    const followed = now.classList.contains("moments") && now.scrollTop + now.clientHeight >= now.scrollHeight - 8;
    const kept = new Set(Array.from(then.childNodes, key).filter(Boolean));
    let at = now.firstChild;
    for (const wanted of Array.from(then.childNodes)) {
      const name = key(wanted);
      let found = null;
      if (name) {
        found = Array.from(now.childNodes).find((it) => alike(it, wanted)) ?? null;
      } else {
        // What has a name that is still wanted is never passed over: it would be thrown away.
        for (let it = at; it && !kept.has(key(it)); it = it.nextSibling) {
          if (alike(it, wanted)) { found = it; break; }
        }
      }
      if (!found) {
        now.insertBefore(document.importNode(wanted, true), at);
        continue;
      }
      if (name && found !== at) {
        now.insertBefore(found, at);
      } else {
        while (at !== found) {
          const next = at.nextSibling;
          at.remove();
          at = next;
        }
        at = found.nextSibling;
      }
      become(found, wanted);
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
    if (followed) now.scrollTop = now.scrollHeight;
  };

  const line = $("#line");
  const lost = $("#lost");
  let ended = false;
  let retry = 0;
  const state = (name, words) => {
    if (ended) return;
    line.dataset.state = name;
    if (line.textContent !== words) line.textContent = words;
    lost.hidden = name !== "lost";
    if (lost.textContent !== words) lost.textContent = name === "lost" ? words : "";
    // The page itself shows whether the server is gone, or the session has ended.
    clearTimeout(retry);
    if (name === "lost") retry = setTimeout(() => refresh(), 3000);
  };
  const end = () => {
    state("lost", "Your session has ended.");
    clearTimeout(retry);
    ended = true;
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = "Sign in again";
    lost.append(" ", link);
  };

  // Changes of the state are announced to screen readers; the list announces how many tasks there are.
  const summary = () => {
    const badge = $(".title .badge");
    const doing = $("#doing");
    const count = $("#count");
    return [badge, doing, count].filter(Boolean).map((it) => it.textContent.trim()).join(". ");
  };
  let announced = summary();
  const announce = () => {
    const now = summary();
    if (now === announced) return;
    announced = now;
    $("#news").textContent = now;
  };

  // Watched pages, in this browser: their states by their paths. Every open page that is live notices their changes, so
  // a watched task notifies from the list, too.
  const watch = $("#watch");
  const watchedPages = () => {
    try { return JSON.parse(localStorage.getItem("watched") ?? "{}") ?? {}; } catch { return {}; }
  };
  const setWatched = (path, words) => {
    const pages = watchedPages();
    if (words === null) delete pages[path]; else pages[path] = words;
    try { localStorage.setItem("watched", JSON.stringify(pages)); } catch { /* Nothing is watched without storage. */ }
  };
  const badgeOf = (page) => $(".title .badge", page)?.textContent.trim() ?? $("#count", page)?.textContent.trim() ?? "";
  const showWatched = () => {
    const on = Notification.permission === "granted" && location.pathname in watchedPages();
    watch.setAttribute("aria-pressed", String(on));
    watch.textContent = on ? "Notifications are on" : "Notify me of changes";
  };
  const noticeChanges = async () => {
    if (!("Notification" in window) || Notification.permission !== "granted") return;
    for (const [path, before] of Object.entries(watchedPages()).slice(0, 8)) {
      if (!/^\/(tasks\/[\w-]+)?$/.test(path)) { setWatched(path, null); continue; }
      let page = document;
      if (path !== location.pathname) {
        const answer = await fetch(path, { headers: { accept: "text/html" }, cache: "no-store" }).catch(() => null);
        if (answer?.status === 404) setWatched(path, null);
        if (!answer?.ok) continue;
        page = new DOMParser().parseFromString(await answer.text(), "text/html");
      }
      const now = badgeOf(page);
      if (now === before || watchedPages()[path] === now) continue;
      setWatched(path, now);
      if (path === location.pathname && !document.hidden) continue;
      const note = new Notification($("h1", page)?.textContent ?? page.title, { body: now, tag: path });
      note.onclick = () => { window.focus(); if (path !== location.pathname) location.assign(path); };
    }
  };
  // A busy list changes often; the watched pages are read less often.
  let noticing = 0;
  const notice = () => {
    noticing ||= setTimeout(() => {
      noticing = 0;
      noticeChanges();
    }, 2000);
  };
  if (watch && "Notification" in window) {
    watch.hidden = false;
    showWatched();
    watch.addEventListener("click", async () => {
      const on = watch.getAttribute("aria-pressed") === "true";
      if (!on && (await Notification.requestPermission()) !== "granted") {
        watch.textContent = "Notifications are blocked in the browser";
        return;
      }
      setWatched(location.pathname, on ? null : badgeOf(document));
      showWatched();
    });
  }

  // The newest step of a running session stays in view while the reader wants it to.
  const follow = () => {
    const box = $("#follow");
    const last = $("#trace > li:last-child");
    if (box?.checked && last) last.scrollIntoView({ block: "end" });
  };
  document.addEventListener("change", (event) => { if (event.target.id === "follow") follow(); });

  let refreshing = false;
  let again = false;
  const refresh = async () => {
    if (refreshing) { again = true; return; }
    refreshing = true;
    try {
      do {
        again = false;
        const answer = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store", redirect: "error" });
        if (answer.status === 401) { end(); return; }
        if (!answer.ok) continue;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const main = $("#main", page);
        if (main) become($("#main"), main);
        document.title = page.title;
        const icon = $("#icon", page)?.getAttribute("href");
        if (icon && icon !== $("#icon").getAttribute("href")) $("#icon").setAttribute("href", icon);
        times();
        announce();
        follow();
        lists();
        state("live", "Live.");
        notice();
      } while (again);
    } catch {
      state("lost", "Connection lost; reconnecting.");
    } finally {
      refreshing = false;
    }
  };

  // The list that the reader came from: its filters are kept on the way back.
  const lists = () => {
    const here = location.pathname === "/";
    try {
      if (here) sessionStorage.setItem("list", location.search);
      const search = sessionStorage.getItem("list") || "";
      if (here || !search.startsWith("?")) return;
      for (const link of all("a[data-list]:not(.brand)")) link.setAttribute("href", `/${search}`);
    } catch { /* Without storage, links lead to the whole list. */ }
  };

  // Updates: the server sends a token that changes whenever the page may have changed. All tabs share one stream
  // where the browser has shared workers.
  const topic = $("#main").dataset.live;
  let token = $("#main").dataset.pulse || null;
  const handle = (message) => {
    if (ended) return;
    if (message.lost) {
      state("lost", "Connection lost; reconnecting.");
      // The session may have ended.
      if (message.refused) refresh();
      return;
    }
    const before = token;
    token = message.token;
    if (before !== null && before !== token) refresh();
    else state("live", "Live.");
  };
  let source = null;
  const listenAlone = () => {
    source = new EventSource(`/events?topics=${encodeURIComponent(topic)}`);
    source.addEventListener("pulse", ({ data }) => handle({ token: data.slice(data.indexOf(" ") + 1) }));
    source.onerror = () => {
      const refused = source.readyState === EventSource.CLOSED;
      handle({ lost: true, refused });
      if (refused) setTimeout(listenAlone, 2000);
    };
  };
  let worker = null;
  const listen = () => { if (worker) worker.port.postMessage({ watch: topic }); else listenAlone(); };
  if (topic) {
    if ("SharedWorker" in window) {
      worker = new SharedWorker($("script[src]").src.replace("dashboard.js", "live.js"));
      worker.port.onmessage = ({ data }) => handle(data);
      worker.onerror = () => {
        worker = null;
        listen();
      };
    }
    listen();
    // A page that the browser keeps for the way back watches nothing meanwhile.
    addEventListener("pagehide", () => { if (worker) worker.port.postMessage({}); else source?.close(); });
    addEventListener("pageshow", (event) => {
      if (!event.persisted) return;
      listen();
      refresh();
    });
  }

  // Keys.
  // What cannot take the focus, such as a link in a closed section, would hold up the keys.
  const visible = (it) => (it.checkVisibility ? it.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true }) : it.getClientRects().length > 0)
    && !it.closest("details:not([open]) > :not(summary)");
  const step = (by) => {
    const list = all("main a.go").filter(visible);
    if (list.length === 0) return;
    const at = list.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + by));
    list[next].focus();
    list[next].scrollIntoView({ block: "nearest" });
  };
  const typing = (target) => target instanceof Element && target.closest("input, textarea, select, [contenteditable]");
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const does = {
      j: () => step(1),
      k: () => step(-1),
      "/": () => { const search = $("#search"); if (search) search.focus(); else location.assign("/"); },
      u: () => location.assign(location.pathname === "/" ? "/" : $("a[data-list]:not(.brand)")?.getAttribute("href") ?? "/"),
      "?": () => { const keys = $("#keys"); if (keys.open) keys.close(); else keys.showModal(); },
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.closest(".command, .copy").querySelector("code, pre"));
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  });

  // Views that the reader saved, in this browser.
  const saved = $("#saved");
  const save = $("#save-view");
  const views = () => {
    try { return JSON.parse(localStorage.getItem("views") ?? "[]").filter((it) => typeof it.name === "string" && /^\?[\w=&%.~+*-]*$/.test(it.search)); }
    catch { return []; }
  };
  const show = () => {
    if (!saved) return;
    saved.replaceChildren(...views().flatMap(({ name, search }) => {
      const link = document.createElement("a");
      link.setAttribute("href", `/${search}`);
      link.textContent = name;
      if (search === location.search) link.setAttribute("aria-current", "true");
      const remove = document.createElement("button");
      remove.type = "button";
      remove.className = "quiet";
      remove.textContent = "×";
      remove.setAttribute("aria-label", `Remove the view ${name}`);
      remove.addEventListener("click", () => {
        localStorage.setItem("views", JSON.stringify(views().filter((it) => it.name !== name)));
        show();
      });
      return [link, remove];
    }));
    save.hidden = location.search === "" || views().some((it) => it.search === location.search);
  };
  save?.addEventListener("click", () => {
    const name = prompt("Name of the view")?.trim().slice(0, 40);
    if (!name) return;
    localStorage.setItem("views", JSON.stringify([...views().filter((it) => it.name !== name), { name, search: location.search }]));
    show();
  });
  show();

  // Comments on lines of a review: they are sent with the reason for a rejection.
  document.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-path] tr[data-line] td.n");
    if (!cell) return;
    const row = cell.parentElement;
    const path = row.closest("[data-path]").dataset.path;
    const name = `c:${row.dataset.line}:${path}`;
    const known = all("textarea").find((it) => it.name === name);
    if (known) { known.focus(); return; }
    const comment = document.createElement("tr");
    comment.className = "d-comment";
    const space = comment.insertCell();
    space.colSpan = 2;
    const text = document.createElement("textarea");
    text.name = name;
    text.rows = 2;
    text.maxLength = 1000;
    text.setAttribute("form", "reject");
    text.setAttribute("aria-label", `Comment on line ${row.dataset.line} of ${path}`);
    comment.insertCell().append(text);
    row.after(comment);
    text.focus();
  });

  // The command line of a new task follows the form.
  const form = $("#new");
  let typed = 0;
  form?.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(async () => {
      const fields = new URLSearchParams(new FormData(form));
      fields.set("decision", "preview");
      const answer = await fetch(form.action, { method: "POST", body: fields }).catch(() => null);
      if (!answer?.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const preview = $("#preview", page);
      if (preview) become($("#preview"), preview);
    }, 400);
  });

  // Seconds until a decision takes effect.
  const count = () => {
    for (const it of all("[data-due]")) {
      it.textContent = String(Math.max(0, Math.ceil((new Date(it.dataset.due) - Date.now()) / 1000)));
    }
  };
  if ($("#review")) setInterval(count, 1000);

  // A link to an attempt or a line unfolds what it is in.
  const unfold = () => {
    let named = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    const target = named;
    for (; named; named = named.parentElement) {
      if (named instanceof HTMLDetailsElement && !named.open) { named.open = true; target.scrollIntoView(); }
    }
  };
  addEventListener("hashchange", unfold);
  unfold();
  times();
  lists();
  follow();
  setInterval(times, 15000);
})();
