package apptest

import "testing"

// payloads has texts that become scripts if a page fails to escape them: between tags,
// in attributes with each kind of quote, in addresses, in elements without tags, and in
// Markdown.
var payloads = []string{
	// Tags.
	`<script>alert(1)</script>`,
	`<ScRiPt src=//evil.example></sCrIpT>`,
	`<img src=x onerror=alert(1)>`,
	`<img/src=x/onerror=alert(1)//`,
	`<svg onload=alert(1)>`,
	`<svg><animate onbegin=alert(1) attributeName=x dur=1s>`,
	`<svg><a xlink:href="javascript:alert(1)"><text y=20>x</text></a>`,
	`<math><mtext><style><img src onerror=alert(1)></style></mtext></math>`,
	`<iframe srcdoc="<script>parent.alert(1)</script>">`,
	`<iframe src=javascript:alert(1)>`,
	`<object data="data:text/html,<script>alert(1)</script>">`,
	`<embed src=javascript:alert(1)>`,
	`<base href=https://evil.example/>`,
	`<meta http-equiv=refresh content="0;url=javascript:alert(1)">`,
	`<link rel=stylesheet href=//evil.example/x.css>`,
	`<style>@import '//evil.example/x.css';</style>`,
	`<form action=//evil.example><button>Send</button></form>`,
	`<input autofocus onfocus=alert(1)>`,
	`<details open ontoggle=alert(1)>`,
	`<video><source onerror=alert(1)></video>`,
	`<body onload=alert(1)>`,
	`<a href=javascript:alert(1)>x</a>`,
	`<template><script>alert(1)</script></template>`,
	`<noscript><p title="</noscript><img src=x onerror=alert(1)>">`,
	`<!--><script>alert(1)</script-->`,
	`<![CDATA[><img src=x onerror=alert(1)>]]>`,
	`<?xml-stylesheet href="javascript:alert(1)"?>`,
	`<<script>alert(1)//<</script>`,
	`<x onclick=alert(1) tabindex=0 autofocus onfocus=alert(1)>x`,
	"<img src=x\fonerror\f=\falert(1)>",

	// Ends of the surrounding elements.
	`</title><script>alert(1)</script>`,
	`</textarea><script>alert(1)</script>`,
	`</script><script>alert(1)</script>`,
	`</style><img src=x onerror=alert(1)>`,
	`</svg></math></p></li></ul></main><script>alert(1)</script>`,
	`--><script>alert(1)</script><!--`,
	`]]><script>alert(1)</script>`,

	// Attributes.
	`"><script>alert(1)</script>`,
	`'><script>alert(1)</script>`,
	`" onmouseover="alert(1)`,
	`' onmouseover='alert(1)`,
	"` onmouseover=alert(1) `",
	`" autofocus onfocus=alert(1) x="`,
	`x" style="background:url(//evil.example)`,
	`&quot;><img src=x onerror=alert(1)>`,
	`&#34; onclick=&#34;alert(1)`,

	// Texts that decode to tags.
	`&lt;script&gt;alert(1)&lt;/script&gt;`,
	`%3Cscript%3Ealert(1)%3C/script%3E`,
	`\u003cscript\u003ealert(1)\u003c/script\u003e`,
	`+ADw-script+AD4-alert(1)+ADw-/script+AD4-`,
	`＜script＞alert(1)＜/script＞`,
	`{{constructor.constructor('alert(1)')()}}${alert(1)}<%= 1 %>`,

	// Markdown.
	`[x](javascript:alert(1))`,
	`[x](JaVaScRiPt:alert(1))`,
	`[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)`,
	`[x](//evil.example/)`,
	`[x](/\evil.example)`,
	`[x](https://ok.example/"onmouseover="alert(1))`,
	`[<img src=x onerror=alert(1)>](/p/tea)`,
	"`<script>alert(1)</script>` *<img src=x onerror=alert(1)>*",
	`> <svg onload=alert(1)>`,
	`## <script>alert(1)</script>`,
	`![x](x"onerror="alert(1))`,
	`[vbscript](vbscript:msgbox(1)) [f](file:///etc/passwd) [b](blob:x)`,
}

func TestPayloads_AreAtLeastSixty(t *testing.T) {
	seen := map[string]bool{}
	for _, text := range payloads {
		seen[text] = true
	}
	if len(seen) < 60 {
		t.Errorf("want 60 different payloads, got %d", len(seen))
	}
}
