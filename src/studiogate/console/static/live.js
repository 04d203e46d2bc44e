// Follow the studio's event log: call back with the ids of classes that changed ("*": any of them may have).
// A stream of server-sent events while this page is visible; a poll where there is no stream. What fails is tried again
// after longer and longer waits, and not before the server asks for it (Retry-After).

const POLL_SECONDS = 5;
const MAX_POLL_SECONDS = 60;
const STREAM_SECONDS = 60;
const MAX_STREAM_SECONDS = 600;
const HELLO_SECONDS = 8;
const SHORTEST_STREAM_SECONDS = 30;
const FAILURES_BEFORE_POLLING = 3;

// Not all pages at the same moment, when the service comes back.
const spread = (seconds) => seconds * (0.8 + 0.4 * Math.random()) * 1000;

export function follow(sequence, changed, show) {
  let last = sequence;
  let source = null;
  let failures = 0;
  let timer = 0;
  let failedPolls = 0;
  let refusedStreams = 0;
  let streamAt = 0;
  let helloAt = 0;

  function took(classes, number) {
    last = number;
    if (classes.length) changed(classes);
  }

  function openStream() {
    stop();
    source = new EventSource(`/console/live?since=${last}`);
    // Without a word from the server something between buffers the stream.
    timer = setTimeout(pollInstead, HELLO_SECONDS * 1000);
    source.addEventListener("hello", () => { helloAt = Date.now(); failedPolls = 0; clearTimeout(timer); show("live"); });
    source.addEventListener("classes", (event) => took(JSON.parse(event.data), Number(event.lastEventId)));
    source.addEventListener("full", pollInstead);
    source.addEventListener("error", () => {
      show("waiting");
      // The server ends a stream after two minutes; one that ends at once counts as a failure.
      const lasted = helloAt && Date.now() - helloAt > SHORTEST_STREAM_SECONDS * 1000;
      if (lasted) refusedStreams = 0;
      failures = lasted ? 0 : failures + 1;
      helloAt = 0;
      if (failures >= FAILURES_BEFORE_POLLING || source.readyState === EventSource.CLOSED) pollInstead();
    });
  }

  function stop() {
    source?.close();
    source = null;
    clearTimeout(timer);
  }

  // There is no stream for this page: poll, and ask for one again later.
  function pollInstead() {
    const seconds = Math.min(STREAM_SECONDS * 2 ** refusedStreams, MAX_STREAM_SECONDS);
    refusedStreams += 1;
    failures = 0;
    streamAt = Date.now() + spread(seconds);
    poll();
  }

  async function poll() {
    stop();
    let asked = 0;
    try {
      const answer = await fetch(`/console/live/changes?since=${last}`, { headers: { "HX-Request": "true" } });
      if (answer.status === 401) return show("ended");
      asked = Number(answer.headers.get("Retry-After")) || 0;
      const found = await answer.json();
      took(found.classes, found.sequence);
      failedPolls = 0;
      show("polling");
    } catch {
      failedPolls += 1;
      show("waiting");
    }
    const longer = Math.min(POLL_SECONDS * 2 ** (failedPolls - 1), MAX_POLL_SECONDS);
    const wait = failedPolls ? spread(longer) : POLL_SECONDS * 1000;
    // What kept the stream away, such as a restart, may be over.
    const isDue = !failedPolls && Date.now() + wait >= streamAt;
    timer = setTimeout(isDue ? openStream : poll, Math.max(wait, asked * 1000));
    return undefined;
  }

  function again() {
    stop();
    failedPolls = 0;
    if (!document.hidden) openStream();
  }

  // A hidden page needs no stream: browsers open only a few connections to one site.
  document.addEventListener("visibilitychange", again);
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", (event) => { if (event.persisted) openStream(); });
  window.addEventListener("online", again);
  // Browsers keep a stream open for minutes after the network has gone.
  window.addEventListener("offline", pollInstead);
  // Somebody whose session had ended has signed in again.
  document.addEventListener("resumeForm", again);
  if (!document.hidden) openStream();
}
