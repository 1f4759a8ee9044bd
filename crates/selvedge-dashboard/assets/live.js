// The shared worker of all tabs: it reads one stream of events for all of them, because a browser opens at most six
// connections to a server, and tabs with a stream each would soon leave none for pages.
"use strict";
(() => {
  // What each page watches.
  const topics = new Map();
  let source = null;
  let opening = 0;

  const send = (message, topic) => {
    for (const [port, watched] of topics) {
      if (topic === undefined || watched === topic) port.postMessage(message);
    }
  };

  const open = () => {
    source?.close();
    source = null;
    if (topics.size === 0) return;
    const wanted = Array.from(new Set(topics.values()), encodeURIComponent);
    source = new EventSource(`/events?topics=${wanted.join(",")}`);
    source.addEventListener("pulse", ({ data }) => {
      const space = data.indexOf(" ");
      send({ token: data.slice(space + 1) }, data.slice(0, space));
    });
    source.onerror = () => {
      const refused = source.readyState === EventSource.CLOSED;
      send({ lost: true, refused });
      if (refused) reopen(2000);
    };
  };

  // Pages that come and go together cause one new stream.
  const reopen = (after) => {
    clearTimeout(opening);
    opening = setTimeout(open, after);
  };

  addEventListener("connect", ({ ports: [port] }) => {
    port.onmessage = ({ data }) => {
      if (data.watch === undefined) topics.delete(port);
      else topics.set(port, data.watch);
      // Also if the topics are the same: the user of the new page may be another one.
      reopen(20);
    };
  });
})();
