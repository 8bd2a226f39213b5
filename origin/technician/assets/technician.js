// Every page works without this script. With it, acts wait in an outbox on the phone until the
// network is back, and photos are made smaller before they are sent.
"use strict";
(() => {
  const { base, outbox, made } = document.body.dataset;
  if (!base || !("indexedDB" in window)) return;
  const retryEvery = 30000, sendTimeout = 60000; // ms
  const longest = 1600, quality = 0.8, maxSignature = 65536; // pixels, of JPEG, bytes
  const skew = 300000; // ms by which clocks of phone and server may differ unnoticed
  const $ = (selector, root = document) => root.querySelector(selector);
  const make = (tag, props, ...children) => {
    const e = Object.assign(document.createElement(tag), props);
    e.append(...children);
    return e;
  };

  // The outbox: {id, key, mission, title, act, label, to, fields, missionVersion, occurredAt, blob, problem}.
  const database = new Promise((ok, fail) => {
    const r = indexedDB.open("fieldmark " + outbox, 1);
    r.onupgradeneeded = () => {
      r.result.createObjectStore("acts", { keyPath: "id", autoIncrement: true });
      r.result.createObjectStore("missions", { keyPath: "id" }); // as the last responses describe them
    };
    r.onsuccess = () => ok(r.result);
    r.onerror = () => fail(r.error);
  });
  // store runs a transaction. Only what exists nowhere else is worth the wait for the disk.
  const store = async (mode, fn, durability = "relaxed") => {
    const t = (await database).transaction(["acts", "missions"], mode, { durability });
    const r = fn(t.objectStore("acts"), t.objectStore("missions"));
    return new Promise((ok, fail) => {
      t.oncomplete = () => ok(r.result);
      t.onabort = t.onerror = () => fail(t.error);
    });
  };
  const all = () => store("readonly", acts => acts.getAll());
  const put = act => store("readwrite", acts => acts.put(act), "strict");
  const drop = act => store("readwrite", acts => acts.delete(act.id));

  const page = $("[data-mission]");
  const known = {}; // missions by id: the page, or a later response
  // loaded ends when known has the mission of the page. A page that is kept for use without a network may be older
  // than the response to the last act.
  const loaded = (async () => {
    if (!page) return;
    const { mission: id, version, moved: movedAt, status, held } = page.dataset;
    known[id] = { id, version: +version, movedAt, status, held };
    const later = await store("readonly", (_, missions) => missions.get(id));
    if (later?.version > version) known[id] = { ...later, stale: true };
  })();
  // finish replaces an act that was sent by the response to it.
  const finish = (act, now) => {
    const before = known[act.mission] ?? {};
    const held = now.status !== "ON_HOLD" ? "" : act.to === "ON_HOLD" ? before.status : before.held;
    const mission = known[act.mission] = { ...before, ...now, id: act.mission, held };
    return store("readwrite", (acts, missions) => {
      missions.put(mission);
      return acts.delete(act.id);
    });
  };

  // predict returns the status, the status before a hold, and the version after acts that are not sent yet.
  const predict = acts => {
    let { status, held } = known[page.dataset.mission];
    for (const a of acts) {
      if (a.act === "resume") [status, held] = [held || "IN_PROGRESS", ""];
      else if (a.to) [status, held] = [a.to, a.to === "ON_HOLD" ? status : ""];
    }
    return status;
  };
  const moves = act => act.act === "resume" || Boolean(act.to);

  let blocked = 0; // status of the link, if it does not work
  const fresh = new Set(); // keys of acts that are sent as they are entered: the server's clock is right for them
  const send = async act => {
    const form = new FormData();
    for (const [name, value] of Object.entries(act.fields)) form.set(name, value);
    form.set("act", act.act);
    form.set("key", act.key);
    form.set("version", act.missionVersion);
    if (!fresh.delete(act.key) && act.occurredAt) {
      const last = Date.parse(known[act.mission]?.movedAt);
      const at = last > act.occurredAt && last - act.occurredAt <= skew ? last : act.occurredAt;
      form.set("occurredAt", new Date(at).toISOString());
    }
    if (act.blob) form.set("file", act.blob, act.blob.type === "image/png" ? "signature.png" : "photo.jpg");
    return fetch(base + "missions/" + act.mission + "/acts", { method: "POST", body: form,
      headers: { Accept: "application/json", "Idempotency-Key": act.key }, signal: AbortSignal.timeout(sendTimeout) });
  };

  // flushOnce sends acts in their order, those of a mission up to the first that is refused. It returns whether
  // any was sent.
  const flushOnce = async () => {
    const stopped = new Set();
    let sent = false;
    for (const act of await all()) {
      if (act.problem) stopped.add(act.mission);
      if (stopped.has(act.mission)) continue;
      let r;
      blocked = 0;
      try {
        r = await send(act);
        if (r.ok) {
          await finish(act, await r.json());
          sent = true;
          if (page) await show();
          continue;
        }
      } catch { /* no network, or it went away while the response came */ }
      if (r && [401, 404, 410].includes(r.status)) blocked = r.status;
      if (!r || r.ok || blocked || r.status >= 500 || [408, 425, 429].includes(r.status)) return sent;
      const problem = await r.json().catch(() => ({ title: "The server refused this (" + r.status + ")" }));
      await put({ ...act, problem });
      stopped.add(act.mission);
    }
    return sent;
  };
  let running = null, again = false;
  const exclusive = fn => navigator.locks ? navigator.locks.request("outbox " + outbox, fn) : fn(); // of all tabs
  const flush = () => {
    again = true;
    return running ??= (async () => {
      let sent = false;
      bar.ariaBusy = "true";
      try {
        while (again) {
          again = false;
          sent = await exclusive(flushOnce) || sent;
        }
      } finally {
        running = null;
        bar.ariaBusy = "false";
      }
      const rest = await show();
      // The page shows what the server knows, unless it would lose what somebody types.
      const typed = [...document.querySelectorAll("textarea, input[type=file]")].some(e => e.value);
      if (sent && !typed && !rest.some(a => page && a.mission === page.dataset.mission)) location.reload();
    })();
  };

  let last = Promise.resolve(); // of the acts that are being written: each has the version after the one before
  const enqueue = (...act) => last = last.catch(() => {}).then(() => append(...act));
  const append = async (mission, title, act, label, to, fields, blob) => {
    await loaded;
    const queue = await all(), before = queue.findLast(a => a.mission === mission);
    const version = before ? before.missionVersion + (moves(before) ? 1 : 0) : known[mission].version;
    const key = crypto.randomUUID?.() ?? [...crypto.getRandomValues(new Uint8Array(16))]
      .map(n => n.toString(16).padStart(2, "0")).join("");
    if (queue.length === 0 && navigator.onLine) fresh.add(key);
    await put({ key, mission, title, act, label, to, fields, missionVersion: version, occurredAt: Date.now(),
      ...(blob && { blob }) });
    await show();
    flush();
  };

  // The camera's file has the place in it (EXIF); what the canvas writes has pixels only.
  const shrink = async file => {
    const picture = await createImageBitmap(file);
    const scale = Math.min(1, longest / Math.max(picture.width, picture.height));
    const canvas = make("canvas", { width: Math.round(picture.width * scale), height: Math.round(picture.height * scale) });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    return new Promise(ok => canvas.toBlob(ok, "image/jpeg", quality));
  };

  document.addEventListener("submit", async event => {
    const form = event.target, { act, to } = form.dataset;
    if (!act || !page) return;
    event.preventDefault();
    const button = event.submitter ?? $("button", form), fields = {};
    if (form.dataset.busy) return;
    form.dataset.busy = "yes";
    let blob;
    try {
      for (const [name, value] of new FormData(form, event.submitter)) {
        if (value instanceof File) blob = await shrink(value);
        else if (!["act", "key", "version"].includes(name)) fields[name] = value;
      }
    } catch {
      tell("This phone cannot read the picture. Choose a JPEG or PNG.");
      delete form.dataset.busy;
      return;
    }
    const label = act === "note" ? "Note" : act === "photo" ? "Photo" : button.textContent.split(":")[0];
    form.reset();
    form.closest(".conflict")?.remove();
    form.closest("details")?.removeAttribute("open");
    await enqueue(page.dataset.mission, page.dataset.title, act, label, to, fields, blob).catch(() =>
      tell("This phone could not store it. Free some of its storage, then enter it again."));
    delete form.dataset.busy;
  });

  // What waits is shown on every page of the link.
  const bar = make("aside", { id: "outbox", hidden: true });
  const status = make("p", { role: "status" });
  bar.append(status);
  $("main").prepend(bar);
  const tell = text => { status.textContent = text; bar.hidden = false; };
  const clock = at => new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

  const resolve = async (mission, change) => {
    let version;
    for (const a of (await all()).filter(a => a.mission === mission)) {
      if (a.problem?.now?.version) version = a.problem.now.version;
      if (a.problem?.now?.movedAt) known[mission] = { ...known[mission], movedAt: a.problem.now.movedAt };
      delete a.problem;
      if (version !== undefined) {
        a.missionVersion = version;
        if (moves(a)) version++;
      }
      await change(a);
    }
    await show();
    return flush();
  };

  // conflictOf shows an act that was refused: what the server has, what the phone has, and the ways out.
  const conflictOf = (act, waiting) => {
    const { problem: p, mission } = act, now = p.now, time = p.code === "invalid_occurred_at";
    const button = (text, change, primary) =>
      make("button", { type: "button", textContent: text, className: primary ? "" : "quiet",
        onclick: () => resolve(mission, change) });
    const truths = make("div", { className: "truths" },
      make("div", {}, make("h3", { textContent: "Now" }), make("p", { textContent: now ? now.words : p.title }),
        make("ul", {}, ...(now?.changes ?? (p.errors ?? []).map(e => e.detail)).map(text =>
          make("li", { textContent: text })))),
      make("div", {}, make("h3", { textContent: "Yours, not sent" }),
        make("p", { textContent: act.label + (act.fields.text ? ": " + act.fields.text : "") +
          (act.occurredAt ? ", " + clock(act.occurredAt) : "") }),
        ...(waiting > 1 ? [make("p", { textContent: waiting - 1 + " more of this mission wait behind it." })] : [])));
    const box = make("section", { className: "conflict" },
      make("h2", { textContent: (time ? "The clock of this phone does not fit: " : "The mission changed: ") + act.title }), truths);
    if (time) box.append(button("Send with the current time", a => put({ ...a, occurredAt: 0 }), true));
    else if (now?.possible) box.append(button("Send mine anyway", put, true));
    else if (!now) box.append(button("Try again", put, true));
    box.append(button(waiting > 1 ? "Discard mine (" + waiting + ")" : "Discard mine", drop, false));
    return box;
  };

  // show shows what waits: on top of the page, on the cards of the list, and as the next thing to do.
  const show = async () => {
    await loaded;
    const acts = await all();
    bar.hidden = acts.length === 0 && navigator.onLine && !blocked;
    const link = { 401: "Enter your PIN to send it.", 404: "This link was replaced: open your new one to send it.",
      410: "This link has ended: open your new one to send it." }[blocked];
    const what = acts.length === 0 ? "" : acts.length === 1 ? "1 entry is not sent yet. " : acts.length + " entries are not sent yet. ";
    const why = link ?? (navigator.onLine ? acts.length ? "It is tried again every 30 seconds." : ""
      : "This phone is offline. You see the state of " + made + ".");
    if (status.textContent !== what + why) status.textContent = what + why;
    bar.dataset.count = acts.length;
    bar.querySelectorAll(".conflict").forEach(e => e.remove());
    for (const act of acts) {
      if (act.problem) bar.append(conflictOf(act, acts.filter(a => a.mission === act.mission).length));
    }
    for (const card of document.querySelectorAll("[data-card]")) {
      const n = acts.filter(a => a.mission === card.dataset.card).length;
      $(".waiting", card)?.remove();
      if (n) card.append(make("p", { className: "waiting", textContent: n + " not sent yet" }));
    }
    if (!page) return acts;
    const mine = acts.filter(a => a.mission === page.dataset.mission);
    $("#waiting")?.remove();
    if (mine.length || known[page.dataset.mission].stale) {
      const predicted = predict(mine), template = $("template[data-acts=" + predicted + "]");
      const words = predicted.toLowerCase().replaceAll("_", " ");
      $("#status").replaceChildren(make("span", { className: "status " + predicted, textContent: words }));
      // Accepting changes no status, but is not offered again.
      const shown = $("#acts").dataset.status ?? (mine.some(a => a.act === "accept") ? "" : page.dataset.status);
      if (shown !== predicted) {
        $("#acts").replaceChildren(template ? template.content.cloneNode(true) : "");
        $("#acts").dataset.status = predicted;
      }
    }
    if (mine.length) {
      const list = make("ul", {}, ...mine.slice(-5).map(a =>
        make("li", { textContent: (a.occurredAt ? clock(a.occurredAt) + " " : "") + a.label })));
      $("#acts").after(make("div", { id: "waiting", className: "waiting" },
        make("p", { textContent: mine.length + " not sent yet" }), list));
    }
    return acts;
  };

  const signature = () => {
    const template = $("#signature");
    if (!template || !page) return;
    template.after(template.content.cloneNode(true));
    const sheet = template.nextElementSibling, canvas = $("canvas", sheet), pen = canvas.getContext("2d");
    let drawn = false, down = false;
    const clear = () => {
      pen.fillStyle = "#fff";
      pen.fillRect(0, 0, canvas.width, canvas.height);
      Object.assign(pen, { strokeStyle: "#000", lineWidth: 4, lineCap: "round", lineJoin: "round" });
      drawn = false;
    };
    const at = e => {
      const r = canvas.getBoundingClientRect();
      return [(e.clientX - r.left) * canvas.width / r.width, (e.clientY - r.top) * canvas.height / r.height];
    };
    canvas.onpointerdown = e => {
      canvas.setPointerCapture(e.pointerId);
      down = drawn = true;
      pen.beginPath();
      pen.moveTo(...at(e));
    };
    canvas.onpointermove = e => {
      if (!down) return;
      pen.lineTo(...at(e));
      pen.stroke();
    };
    canvas.onpointerup = canvas.onpointercancel = () => { down = false; };
    $("[data-do=clear]", sheet).onclick = clear;
    $("[data-do=save]", sheet).onclick = () => canvas.toBlob(async blob => {
      if (!drawn) return tell("Sign in the field first.");
      if (blob.size > maxSignature) return tell("This signature is too large. Clear it and sign with fewer strokes.");
      clear();
      await enqueue(page.dataset.mission, page.dataset.title, "signature", "Signature", "", {}, blob);
    }, "image/png");
    clear();
  };

  const offline = async () => {
    if (!navigator.serviceWorker) return;
    for (const r of await navigator.serviceWorker.getRegistrations()) {
      const script = (r.active ?? r.waiting ?? r.installing)?.scriptURL ?? "";
      if (script.endsWith("?" + outbox) && !r.scope.endsWith(base)) await r.unregister(); // of a link before this one
    }
    await navigator.serviceWorker.register(base + "worker.js?" + outbox, { scope: base });
    await navigator.serviceWorker.ready;
    $(".offline-note")?.removeAttribute("hidden");
    const first = !navigator.serviceWorker.controller;
    if (first) await new Promise(ok =>
      navigator.serviceWorker.addEventListener("controllerchange", ok, { once: true }));
    // The worker keeps what it fetches: this page, which was loaded before the worker was there, and the missions.
    const pages = [...first ? [location] : [], ...document.querySelectorAll("[data-card] a")];
    for (const { href } of pages) await fetch(href).catch(() => {});
    document.body.dataset.offline = "ready";
  };

  window.addEventListener("online", flush);
  window.addEventListener("offline", show);
  setInterval(flush, retryEvery);
  signature();
  show().then(flush);
  offline().catch(() => {}); // without HTTPS, or in a private window: the page works online
})();
