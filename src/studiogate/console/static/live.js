// Follow the studio's event log: call back with the ids of classes that changed ("*": any of them may have).
// A stream of server-sent events while this page is visible; a poll where there is no stream.

const POLL_SECONDS = 5;
const HELLO_SECONDS = 8;
const FAILURES_BEFORE_POLLING = 3;
const POLLS_BEFORE_STREAM = 12;

export function follow(sequence, changed, show) {
  let last = sequence;
  let source = null;
  let failures = 0;
  let timer = 0;
  let polls = 0;

  function took(classes, number) {
    last = number;
    if (classes.length) changed(classes);
  }

  function openStream() {
    source = new EventSource(`/console/live?since=${last}`);
    // Without a word from the server something between buffers the stream.
    timer = setTimeout(poll, HELLO_SECONDS * 1000);
    source.addEventListener("hello", () => { failures = 0; clearTimeout(timer); show("live"); });
    source.addEventListener("classes", (event) => took(JSON.parse(event.data), Number(event.lastEventId)));
    source.addEventListener("full", poll);
    source.addEventListener("error", () => {
      show("waiting");
      failures += 1;
      if (failures >= FAILURES_BEFORE_POLLING || source.readyState === EventSource.CLOSED) poll();
    });
  }

  function stop() {
    source?.close();
    source = null;
    clearTimeout(timer);
  }

  async function poll() {
    stop();
    polls += 1;
    failures = 0;
    try {
      const answer = await fetch(`/console/live/changes?since=${last}`, { headers: { "HX-Request": "true" } });
      if (answer.status === 401) return show("ended");
      const found = await answer.json();
      took(found.classes, found.sequence);
      show("polling");
    } catch {
      show("waiting");
    }
    // What kept the stream away, such as a restart, may be over.
    timer = setTimeout(polls % POLLS_BEFORE_STREAM ? poll : openStream, POLL_SECONDS * 1000);
    return undefined;
  }

  function again() {
    stop();
    if (!document.hidden) openStream();
  }

  // A hidden page needs no stream: browsers open only a few connections to one site.
  document.addEventListener("visibilitychange", again);
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", (event) => { if (event.persisted) openStream(); });
  window.addEventListener("online", again);
  // Somebody whose session had ended has signed in again.
  document.addEventListener("resumeForm", again);
  if (!document.hidden) openStream();
}
