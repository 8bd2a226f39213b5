// Sends the request of a page of the reference. The key and the response are only in this
// page: nothing is stored, and cookies are not sent.
(() => {
  const form = document.querySelector("form[data-try]");
  if (!form) return;
  form.hidden = false;
  const out = form.querySelector("[data-out]");
  const shown = 65536; // characters of a response; more would slow the page down
  const values = kind => [...form.querySelectorAll(`[data-in=${kind}]`)].filter(e => e.value);

  const request = () => {
    let path = form.dataset.path;
    for (const e of form.querySelectorAll("[data-in=path]")) {
      path = path.replace("{" + e.name + "}", encodeURIComponent(e.value));
    }
    const query = new URLSearchParams(values("query").map(e => [e.name, e.value])).toString();
    const headers = new Headers(values("header").map(e => [e.name, e.value]));
    const key = form.querySelector("[data-in=key]")?.value.trim();
    if (key) headers.set("Authorization", "Bearer " + key);
    const body = form.querySelector("[data-in=body]")?.value || undefined;
    if (body) headers.set("Content-Type", form.dataset.type);
    return [query ? path + "?" + query : path, {
      method: form.dataset.method, headers, body, credentials: "omit", cache: "no-store",
      signal: AbortSignal.timeout(60000),
    }];
  };

  const show = async (response, since) => {
    const type = response.headers.get("Content-Type") || "";
    let text = "";
    if (/json|text|xml|csv/.test(type)) {
      text = await response.text();
      if (/json/.test(type)) try { text = JSON.stringify(JSON.parse(text), null, 2); } catch {}
      if (text.length > shown) text = text.slice(0, shown) + "\n… (" + text.length + " characters)";
    } else {
      const n = (await response.arrayBuffer()).byteLength;
      if (n) text = n + " bytes of " + (type || "unknown type");
    }
    const head = [...response.headers].map(([k, v]) => k + ": " + v).join("\n");
    out.querySelector("[data-status]").textContent =
      response.status + " " + response.statusText + " · " + Math.round(performance.now() - since) + " ms";
    out.querySelector("[data-headers]").textContent = head;
    out.querySelector("[data-body]").textContent = text || "(no body)";
  };

  form.addEventListener("submit", async event => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    out.hidden = false;
    out.querySelector("[data-status]").textContent = "Sending …";
    const since = performance.now();
    try {
      await show(await fetch(...request()), since);
    } catch (error) {
      out.querySelector("[data-status]").textContent = "No response: " + error.message;
      out.querySelector("[data-headers]").textContent = out.querySelector("[data-body]").textContent = "";
    } finally {
      button.disabled = false;
      const sure = form.querySelector("[data-sure]");
      if (sure) sure.checked = false; // the next write is confirmed again
      out.focus();
    }
  });
})();
