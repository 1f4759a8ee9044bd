// The dashboard's one script: times in the reader's zone, keys, copying, and news of what changed. Without
// it every page works, and shows what was so when it was loaded. It never makes markup out of text: what
// it puts into the page is the server's own page, fetched anew.
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
      (name === "open" && now.nodeName === "DETAILS") || name === "title" && now.nodeName === "TIME" || name === "data-live";
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
  const state = (name, words) => {
    line.dataset.state = name;
    if (line.textContent !== words) line.textContent = words;
  };
  let at_work = false;
  let again = false;
  const refresh = async () => {
    if (at_work) { again = true; return; }
    at_work = true;
    try {
      do {
        again = false;
        const answer = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store", redirect: "error" });
        if (answer.status === 401) { state("lost", "Signed out: reload to sign in again."); return; }
        if (!answer.ok) continue;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const main = $("#main", page);
        if (main) become($("#main"), main);
        document.title = page.title;
        times();
        state("live", "Live.");
      } while (again);
    } catch {
      state("lost", "Connection lost; reconnecting.");
    } finally {
      at_work = false;
    }
  };

  // News: the server says a word that is another one once anything changed.
  const address = $("#main").dataset.live;
  let heard = $("#main").dataset.pulse || null;
  let source;
  const listen = () => {
    source = new EventSource(address);
    source.addEventListener("pulse", (event) => {
      const before = heard;
      heard = event.data;
      if (before !== null && before !== heard) refresh();
      else state("live", "Live.");
    });
    source.onerror = () => {
      state("lost", "Connection lost; reconnecting.");
      if (source.readyState === EventSource.CLOSED) {
        source.close();
        setTimeout(listen, 2000);
      }
    };
  };
  if (address) {
    listen();
    // Browsers open six connections to a server, and a page that they keep for the way back would keep its own.
    addEventListener("pagehide", () => source.close());
    addEventListener("pageshow", (event) => {
      if (!event.persisted) return;
      listen();
      refresh();
    });
  }

  // Keys.
  const stops = () => all("main a.go, main tr.row a.go").filter((it) => it.getClientRects().length > 0);
  const step = (by) => {
    const list = [...new Set(stops())];
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
      u: () => location.assign("/"),
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
      getSelection().selectAllChildren(button.previousElementSibling);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  });

  // Choosing is enough where there is a script.
  document.addEventListener("change", (event) => {
    if (event.target.matches("#filters select")) event.target.form.requestSubmit();
  });

  // A link to an attempt unfolds it.
  const unfold = () => {
    const named = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    if (named instanceof HTMLDetailsElement) named.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
  times();
  setInterval(times, 15000);
})();
