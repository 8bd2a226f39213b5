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
      t.oncomplete = () => ok(r?.result);
      t.onabort = t.onerror = () => fail(t.error);
    });
  };
  // acts is the outbox as this tab knows it, by id and in order: with hundreds of entries, reading all of them for
  // each new one takes too long. read reads it again, because other tabs change the database too.
  let acts = new Map();
  const read = async () => {
    acts = new Map((await store("readonly", acts => acts.getAll())).map(a => [a.id, a]));
  };
  const of = mission => [...acts.values()].filter(a => a.mission === mission);
  const moves = act => act.act === "resume" || Boolean(act.to);

  const page = $("[data-mission]");
  const known = {}; // missions by id: the page, or a later response
  // loaded ends when acts and known are read. A page that is kept for use without a network may be older than the
  // response to the last act.
  const loaded = (async () => {
    for (const m of await store("readonly", (_, missions) => missions.getAll())) known[m.id] = { ...m, stale: true };
    if (page) {
      const { mission: id, version, moved: movedAt, status, held } = page.dataset;
      if (!(known[id]?.version > version)) known[id] = { id, version: +version, movedAt, status, held };
    }
    await read();
  })();
  // finish replaces an act that was sent by the response to it.
  const finish = async (act, now) => {
    const before = known[act.mission] ?? {};
    const held = now.status !== "ON_HOLD" ? "" : act.to === "ON_HOLD" ? before.status : before.held;
    const mission = known[act.mission] = { ...before, ...now, id: act.mission, held };
    await store("readwrite", (acts, missions) => {
      missions.put(mission);
      acts.delete(act.id);
    });
    acts.delete(act.id);
  };
  // refuse stops the acts of a mission at one that the server refused, until a person decides.
  const refuse = async (act, problem) => {
    const { status, held = "", version, movedAt } = problem.now ?? {}, stopped = { ...act, problem };
    if (version) known[act.mission] = { id: act.mission, status, held, version, movedAt, stale: true };
    await store("readwrite", (acts, missions) => {
      if (version) missions.put(known[act.mission]);
      acts.put(stopped);
    }, "strict");
    acts.set(act.id, stopped);
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
  // the server knows more now than the page shows.
  const flushOnce = async () => {
    await read();
    const stopped = new Set();
    let changed = false;
    for (const act of acts.values()) {
      if (act.problem) stopped.add(act.mission);
      if (stopped.has(act.mission)) continue;
      let r;
      blocked = 0;
      try {
        r = await send(act);
        if (r.ok) {
          await finish(act, await r.json());
          changed = true;
          show();
          continue;
        }
      } catch { /* no network, or it went away while the response came */ }
      if (r && [401, 404, 410].includes(r.status)) blocked = r.status;
      if (!r || r.ok || blocked || r.status >= 500 || [408, 425, 429].includes(r.status)) return changed;
      await refuse(act, await r.json().catch(() => ({ title: "The server refused this entry (" + r.status + ")" })));
      stopped.add(act.mission);
      changed = true;
    }
    return changed;
  };
  let running = null, again = false;
  const exclusive = fn => navigator.locks ? navigator.locks.request("outbox " + outbox, fn) : fn(); // of all tabs
  const flush = () => {
    again = true;
    return running ??= (async () => {
      let changed = false, reloads = false;
      bar.ariaBusy = "true";
      try {
        await loaded;
        while (again) {
          again = false;
          changed = await exclusive(flushOnce) || changed;
        }
        // The page shows what the server knows, unless it would lose what somebody types.
        const typed = [...document.querySelectorAll("textarea, input[type=file]")].some(e => e.value);
        const mine = page ? of(page.dataset.mission) : [];
        reloads = changed && !typed && (mine.length === 0 || mine.some(a => a.problem));
      } finally {
        running = null;
        if (reloads) location.reload();
        else {
          show();
          bar.ariaBusy = "false";
        }
      }
    })();
  };

  // enqueue stores an act with the version of the mission after the acts before it, which other tabs enter too.
  const enqueue = async (mission, title, act, label, to, fields, blob) => {
    await loaded;
    const key = crypto.randomUUID?.() ?? [...crypto.getRandomValues(new Uint8Array(16))]
      .map(n => n.toString(16).padStart(2, "0")).join("");
    const entry = { key, mission, title, act, label, to, fields, occurredAt: Date.now(), ...(blob && { blob }) };
    if (acts.size === 0 && navigator.onLine) fresh.add(key);
    await store("readwrite", (acts, missions) => {
      const add = version => {
        entry.missionVersion = version;
        acts.add(entry).onsuccess = e => { entry.id = e.target.result; };
      };
      acts.openCursor(null, "prev").onsuccess = ({ target: { result: before } }) => {
        if (before && before.value.mission !== mission) return before.continue();
        if (before) return add(before.value.missionVersion + (moves(before.value) ? 1 : 0));
        missions.get(mission).onsuccess = e =>
          add(Math.max(known[mission].version, e.target.result?.version ?? 0));
      };
    }, "strict");
    acts.set(entry.id, entry);
    show();
    if (navigator.onLine) flush(); // otherwise when the network is back, or every 30 s
  };

  // The camera's file has the place in it (EXIF); what the canvas writes has pixels only.
  const shrink = async file => {
    const picture = await createImageBitmap(file);
    const scale = Math.min(1, longest / Math.max(picture.width, picture.height));
    const canvas = make("canvas", { width: Math.round(picture.width * scale), height: Math.round(picture.height * scale) });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    return new Promise(ok => canvas.toBlob(ok, "image/jpeg", quality));
  };

  // blank reports whether a form lacks its text, and shows that at the field as the server does.
  const blank = form => {
    const field = form.elements.text, other = form.elements.code?.value === "OTHER";
    if (!field || field.value.trim() || !(field.required || other)) return false;
    $("#" + field.id + "-fault")?.remove();
    field.after(make("strong", { className: "fault", id: field.id + "-fault",
      textContent: other ? "Say what it is." : "Enter a note." }));
    field.ariaInvalid = "true";
    field.setAttribute("aria-describedby", field.id + "-fault");
    field.focus();
    return true;
  };

  document.addEventListener("submit", async event => {
    const form = event.target, { act, to } = form.dataset;
    if (!act || !page) return;
    event.preventDefault();
    const button = event.submitter ?? $("button", form), fields = {};
    if (form.dataset.busy || blank(form)) return;
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
    form.querySelectorAll(".fault").forEach(e => e.remove());
    form.querySelectorAll("[aria-invalid]").forEach(e => e.removeAttribute("aria-invalid"));
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

  // decide continues with a mission that stopped. Change returns an act to send against the state of the server, or
  // null to discard it.
  const decide = async (mission, change) => {
    await exclusive(async () => {
      await read();
      const mine = of(mission), now = mine.find(a => a.problem)?.problem.now;
      let version = Math.max(known[mission]?.version ?? 0, now?.version ?? 0);
      await store("readwrite", acts => mine.map(change).forEach((act, i) => {
        if (!act) return acts.delete(mine[i].id);
        const { problem, ...rest } = act;
        acts.put({ ...rest, missionVersion: version || act.missionVersion });
        if (version && moves(act)) version++;
      }), "strict");
      await read();
    });
    show();
    await flush();
  };

  // conflictOf shows the acts of a mission of which the first was refused: what the server has, what the phone has,
  // and the ways out.
  const conflictOf = (mission, mine) => {
    const { problem: p, act, label, title } = mine[0], now = p.now, time = p.code === "invalid_occurred_at";
    const button = (text, change, className) =>
      make("button", { type: "button", textContent: text, className, onclick: () => decide(mission, change) });
    const truth = (name, text, items) => make("div", {}, make("h3", { textContent: name }),
      ...(text ? [make("p", { textContent: text })] : []),
      make("ul", {}, ...items.map(text => make("li", { textContent: text }))));
    const n = mine.length, entries = n === 1 ? "entry" : n + " entries";
    const yours = mine.slice(0, 5).map(a =>
      (a.occurredAt ? clock(a.occurredAt) + " " : "") + a.label + (a.fields.text ? ": " + a.fields.text : ""));
    if (n > 5) yours.push("and " + (n - 5) + " more");
    const box = make("section", { className: "conflict" },
      make("h2", { textContent: (time ? "The clock of this phone is wrong: " : now ? "The mission changed: "
        : "The server refused an entry: ") + title }),
      make("div", { className: "truths" },
        truth("On the server", now ? now.words : p.title, now?.changes ?? (p.errors ?? []).map(e => e.detail)),
        truth("On this phone, not sent", "", yours)));
    // The page may be newer than the refusal.
    const possible = now?.possible || page?.dataset.mission === mission && $("#acts form[data-act=" + act + "]");
    if (time) box.append(button("Send with the current time", a => ({ ...a, occurredAt: 0 }), "primary"));
    else if (possible) box.append(button("Send my " + entries, a => a, "primary"));
    else if (!now) box.append(button("Try again", a => a, "primary"));
    else if (n > 1 && now.version) {
      box.append(make("p", { textContent: "“" + label + "” is no longer possible." }),
        button("Discard “" + label + "”, send the rest", (a, i) => i ? a : null, "primary"));
    }
    box.append(make("details", {},
      make("summary", { className: "button danger", textContent: "Discard my " + entries + "…" }),
      make("p", { textContent: "You cannot undo this." }), button("Discard: confirm", () => null, "danger")));
    return box;
  };

  // show shows what waits: on top of the page, on the cards of the list, and as the next thing to do. It touches only
  // what differs, so that each of hundreds of acts costs the same.
  let drawn = ""; // the conflicts on the page
  const show = () => {
    const byMission = {};
    for (const a of acts.values()) (byMission[a.mission] ??= []).push(a);
    const missions = Object.entries(byMission), stopped = missions.filter(([, mine]) => mine.some(a => a.problem));
    bar.hidden = acts.size === 0 && navigator.onLine && !blocked;
    const link = { 401: "Enter your PIN to send it.", 404: "This link was replaced. Open your new link to send it.",
      410: "This link has ended. Open your new link to send it." }[blocked];
    const n = acts.size, what = n > 1 ? n + " entries are not sent yet. " : n ? "1 entry is not sent yet. " : "";
    const why = link ?? (!navigator.onLine ? "This phone is offline. You see the state of " + made + "."
      : missions.length > stopped.length ? "This page tries again every 30 seconds."
      : n ? "Choose what to do with " + (n > 1 ? "them." : "it.") : "");
    if (status.textContent !== what + why) status.textContent = what + why;
    bar.dataset.count = n;
    const draw = JSON.stringify(stopped);
    if (drawn !== draw) { // a button that has the focus keeps it
      drawn = draw;
      bar.querySelectorAll(".conflict").forEach(e => e.remove());
      bar.append(...stopped.map(([mission, mine]) => conflictOf(mission, mine)));
    }
    for (const card of document.querySelectorAll("[data-card]")) {
      const n = byMission[card.dataset.card]?.length;
      $(".waiting", card)?.remove();
      if (n) card.append(make("p", { className: "waiting", textContent: n + " not sent yet" }));
    }
    if (!page) return;
    const mine = byMission[page.dataset.mission] ?? [], decides = mine.some(a => a.problem);
    page.classList.toggle("stopped", decides); // hides the acts
    if (mine.length || known[page.dataset.mission]?.stale) {
      const predicted = predict(decides ? [] : mine), template = $("template[data-acts=" + predicted + "]");
      // Accepting changes no status, but is not offered again.
      const shown = $("#acts").dataset.status ?? (mine.some(a => a.act === "accept") ? "" : page.dataset.status);
      if (shown !== predicted) {
        const words = predicted.toLowerCase().replaceAll("_", " ");
        $("#status").replaceChildren(make("span", { className: "status " + predicted, textContent: words }));
        $("#acts").replaceChildren(template ? template.content.cloneNode(true) : "");
        $("#acts").dataset.status = predicted;
      }
    }
    $("#waiting")?.remove();
    if (mine.length && !decides) {
      const list = make("ul", {}, ...mine.slice(-5).map(a =>
        make("li", { textContent: (a.occurredAt ? clock(a.occurredAt) + " " : "") + a.label })));
      $("#acts").after(make("div", { id: "waiting", className: "waiting" },
        make("p", { textContent: mine.length + " not sent yet" }), list));
    }
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
  document.addEventListener("visibilitychange", async () => {
    if (document.hidden) return;
    await read(); // another tab may have sent or discarded acts
    show();
  });
  setInterval(flush, retryEvery);
  signature();
  loaded.then(flush);
  offline().catch(() => {}); // without HTTPS, or in a private window: the page works online
})();
