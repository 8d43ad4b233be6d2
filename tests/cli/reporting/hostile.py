"""What somebody would put into code to run in the page of a report. Each of them sets `owned` where it runs."""

SCRIPT = "</script><script>window.owned=1</script>"
PAYLOADS = (
    SCRIPT,
    "</style><script>window.owned=1</script>",
    "</title><script>window.owned=1</script>",
    "--><script>window.owned=1</script><!--",
    "<img src=x onerror=window.owned=1>",
    '"><img src=x onerror=window.owned=1>',
    "'><svg onload=window.owned=1>",
    '" autofocus onfocus=window.owned=1 x="',
    "<iframe srcdoc='<script>parent.owned=1</script>'></iframe>",
    "<a href=javascript:window.owned=1>javascript:window.owned=1</a>",
    "<base href=//example.org/><link rel=stylesheet href=//example.org/x.css>",
    "<meta http-equiv=refresh content='0;url=//example.org'>",
    "{{ 7 * 7 }}{% raw %}${7*7}&lt;b&gt;&#60;b&#62;",
    "<!-- <details> </code></pre></article></main>",
    "\u202eevil\u2066\u200b\u00ad\ufeff\u0085\u2028\x07\x1b[31m\x00\x7f",
    "`<script>window.owned=1</script>`",
)
"""In any text: comments, strings, messages."""

NAMES = (
    '"><img src=x onerror=window.owned=1>.py',
    "x<{slash}script><script>window.owned=1<{slash}script>.py",
    "' onmouseover='window.owned=1.py",
    "javascript:window.owned=1.py",
    "{{ 7 * 7 }}{% if x %}.py",
    "#?rule=DVF999&q=zzz.py",
    "a\u202eyp.exe\n<b>.py",
    "b\udcff\x1b[31m.py",
)
"""Names of files; a slash stands for a folder."""
