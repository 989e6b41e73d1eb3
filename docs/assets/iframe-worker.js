// A page opened from a file may not start workers: the search then runs in a hidden frame instead.
if (location.protocol === "file:") {
  // as with a worker, the other side gets a copy, and gets it later
  const send = (target, data) => {
    const message = new MessageEvent("message", { data: structuredClone(data) });
    setTimeout(() => target.dispatchEvent(message));
  };
  window.Worker = class extends EventTarget {
    onmessage = null;
    constructor(url) {
      super();
      this.addEventListener("message", (event) => this.onmessage?.(event));
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.scope = this.frame.contentWindow;
      this.scope.postMessage = (data) => send(this, data);
      const script = this.scope.document.createElement("script");
      this.ready = new Promise((resolve) => script.addEventListener("load", resolve));
      script.src = url;
      this.scope.document.body.append(script);
    }
    postMessage(data) {
      this.ready.then(() => send(this.scope, data));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
