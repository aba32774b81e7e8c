// The HTML of the chat. It contains nothing of a conversation; the script adds that as text.
import * as bridgeStrings from "../core/strings/bridge";
import * as chatStrings from "../core/strings/chat";

export function html(parts: { csp: string; nonce: string; script: string; style: string }): string {
  const policy = [
    "default-src 'none'", `style-src ${parts.csp}`, `script-src 'nonce-${parts.nonce}'`, "base-uri 'none'", "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${parts.style}">
<title>${bridgeStrings.product}</title>
</head>
<body>
<div id="tabs" class="row" hidden><div role="tablist" aria-label="${chatStrings.chats.list}"></div></div>
<h2 id="title" hidden></h2>
<main id="log" role="log" aria-live="off" aria-label="${chatStrings.chat.conversation}" tabindex="0"></main>
<section id="plan" hidden></section>
<section id="requests" aria-label="${chatStrings.chat.requests}"></section>
<section id="blocked" role="note" hidden><p></p><button type="button"></button></section>
<section id="picker" role="dialog" hidden></section>
<form id="composer">
<ul id="chips" aria-label="${chatStrings.context.list}" hidden></ul>
<ul id="suggestions" role="listbox" aria-label="${chatStrings.completion.list}" hidden></ul>
<textarea id="prompt" rows="1" aria-label="${chatStrings.chat.message}" aria-describedby="hint" aria-autocomplete="list" aria-controls="suggestions" placeholder="${chatStrings.chat.ask}"></textarea>
<div id="problem" role="alert" hidden></div>
<div id="bar" class="row"></div>
<div class="row"><span id="hint"></span><button type="button" id="stop" class="secondary" hidden>${chatStrings.chat.stop}</button><button type="submit" id="send">${chatStrings.chat.sendButton}</button></div>
</form>
<div id="announce" class="unseen" role="status" aria-live="polite"></div>
<script nonce="${parts.nonce}" src="${parts.script}"></script>
</body>
</html>`;
}
