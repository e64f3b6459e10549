// The site's search from a file: browsers start no worker for a page that was opened as file://, so the search's script
// runs in a frame of the page instead. mkdocs-material has the same from a network (its plugin `offline`, the shim
// `iframe-worker`); a page of ours asks none. The name IFrameWorker is what its script looks for.
"use strict";

class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.appendChild(this.frame);
    const inside = this.frame.contentWindow;
    this.hear = (event) => {
      if (event.source === inside) this.dispatchEvent(new MessageEvent("message", { data: event.data }));
    };
    addEventListener("message", this.hear);
    this.begun = new Promise((resolve, reject) => {
      const script = inside.document.createElement("script");
      script.src = new URL(url, location.href).href;
      script.onload = resolve;
      script.onerror = reject;
      // what the script calls a worker's own is the frame's
      const own = inside.document.createElement("script");
      own.text = `function postMessage(data) { parent.postMessage(data, "*"); }
        function importScripts(...urls) {
          return urls.reduce((before, url) => before.then(() => new Promise((resolve) => {
            const script = document.createElement("script");
            script.src = url; script.onload = resolve; document.body.appendChild(script);
          })), Promise.resolve());
        }`;
      inside.document.body.append(own, script);
    });
  }

  postMessage(data) {
    const inside = this.frame.contentWindow;
    this.begun.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
  }

  terminate() {
    removeEventListener("message", this.hear);
    this.frame.remove();
  }
}

window.IFrameWorker = IFrameWorker;
if (location.protocol === "file:") window.Worker = IFrameWorker;
