//! Hostile output of agents, checks and repositories: pages show it as text and execute none of it.

use std::fmt::Write as _;

use serde_json::json;

use crate::fixtures::{agents, ending, env_with_repo, newest, open_browser, serve, write};

/// Texts that would run scripts or load resources if they were interpreted as markup.
const MARKUP: [&str; 26] = [
    "<script>window.pwned=1</script>",
    "</pre><script>window.pwned=1</script>",
    "</span></pre></main><script src=http://evil.example/x.js></script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg onload=window.pwned=1><script>window.pwned=1</script></svg>",
    "<svg><animate onbegin=window.pwned=1 attributeName=x dur=1s>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<iframe src=javascript:parent.pwned=1>",
    "<object data=http://evil.example/></object><embed src=http://evil.example/>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<style>@import url(http://evil.example/x.css);body{background:url(http://evil.example/i)}</style>",
    "<base href=http://evil.example/>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<form action=http://evil.example/><button autofocus onfocus=window.pwned=1>x</button></form>",
    "<a href='javascript:window.pwned=1'>click</a>",
    "<a href=\"data:text/html,<script>opener.pwned=1</script>\" target=_blank>x</a>",
    "<video src=http://evil.example/v autoplay onerror=window.pwned=1>",
    "<audio src=http://evil.example/a autoplay>",
    "<details open ontoggle=window.pwned=1>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.pwned=1>",
    "<noscript><p title=\"</noscript><img src=x onerror=window.pwned=1>\">",
    "<template><script>window.pwned=1</script></template>",
    "<!--><script>window.pwned=1</script>-->",
    "<![CDATA[<script>window.pwned=1</script>]]>",
    "\"><script>window.pwned=1</script><input value=\"",
    "'-window.pwned=1-' \" onmouseover=window.pwned=1 x=\" {{7*7}} ${7*7} <%= 7*7 %>",
];

/// Control sequences of terminals.
const SEQUENCES: [&str; 30] = [
    "\x1b]8;;javascript:window.pwned=1\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]8;;http://evil.example/\x07link\x1b]8;;\x07",
    "\x1b]0;<script>window.pwned=1</script>\x07",
    "\x1b]2;title\x1b\\",
    "\x1b]52;c;cm0gLXJmIC8=\x07",
    "\x1b]1337;File=inline=1:aGVsbG8=\x07",
    "\x1b]133;A\x07\x1b]633;P;x\x07",
    "\x1b]4;1;rgb:ff/00/00\x07",
    "\x1b]9;notification\x07",
    "\x1b]777;notify;a;b\x07",
    "\x1b]50;SetProfile=x\x07",
    "\x1b]0;never ended <script>window.pwned=1</script>",
    "\x1bP+q544e\x1b\\\x1bPq#0;2;0;0;0#0~~@@\x1b\\",
    "\x1b_Gf=100,t=f;L2V0Yy9wYXNzd2Q=\x1b\\",
    "\x1b^private\x1b\\\x1bXstring\x1b\\",
    "\x1b[2J\x1b[H\x1b[3J",
    "\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?2004h",
    "\x1b[6n\x1b[c\x1b[>c\x1b[=c\x1b[18t",
    "\x1b[999;999H\x1b[1A\x1b[1000D",
    "\x1b[21t\x1b[22;0t\x1b[8;1;1t",
    "\x1bc\x1b#8\x1b(0lqqk\x1b(B",
    "\x1b[31;<script>m",
    "\x1b[38;5;<b>m\x1b[38;2;300;300;300mx\x1b[38;5;999my",
    "\x1b[31m\x1b[41m\x1b[8mhidden\x1b[0m",
    "\x1b[",
    "\x1b",
    "\u{9b}31mred\u{9b}0m \u{9d}0;t\u{9c}",
    "a\rb\rc\x08\x08\x08\x08\x08d",
    "\x07\x07\x07\x05\x0e\x0f\x7f\x1a",
    "line\x0bline\x0cline\u{85}line",
];

/// Characters that make a text look different from what it is.
const DECEPTIVE: [&str; 18] = [
    "\u{202e}gnp.exe\u{202c}",
    "if (admin\u{2066} /* check \u{2069}\u{2066}) { */",
    "\u{202a}a\u{202b}b\u{202c}c\u{202d}d",
    "\u{2067}rtl\u{2068}first\u{2069}",
    "\u{200e}\u{200f}\u{61c}marks",
    "zero\u{200b}width\u{2060}joined\u{feff}",
    "\u{ad}soft\u{ad}hyphen",
    "\u{e0001}\u{e0041}\u{e0042}tags",
    "\u{fff9}a\u{fffa}b\u{fffb}",
    "\u{2028}line\u{2029}paragraph",
    "\u{180e}mongolian",
    "a\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}\u{309}\u{30a}\u{30b}\u{30c}\u{30d}\u{30e}\u{30f}",
    "раураl.com аррle.com",
    "\u{ff1c}script\u{ff1e}window.pwned=1\u{ff1c}/script\u{ff1e}",
    "&lt;script&gt;window.pwned=1&lt;/script&gt; &#60;script&#62; &#x3c;img",
    "+ADw-script+AD4-window.pwned=1+ADw-/script+AD4-",
    "%3Cscript%3Ewindow.pwned=1%3C/script%3E \\u003cscript\\u003e",
    "javascript:window.pwned=1 data:text/html,x vbscript:x file:///etc/passwd //evil.example/x",
];

/// Returns all texts: alone, and in places where a parser of output may be misled.
fn corpus() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    let pieces = MARKUP.iter().chain(&SEQUENCES).chain(&DECEPTIVE);
    all.extend(pieces.map(|piece| piece.as_bytes().to_vec()));
    // Markup in colored text, in links, and in messages of tools.
    for (number, piece) in MARKUP.iter().enumerate() {
        let within = match number % 3 {
            0 => format!("\x1b[1;31m{piece}\x1b[0m"),
            1 => format!("\x1b]8;;{piece}\x07{piece}\x1b]8;;\x07"),
            _ => format!(
                "error: {piece}\n  --> src/{piece}.rs:1:1\nFAILED tests/a.py::test[{piece}] - {piece}"
            ),
        };
        all.push(within.into_bytes());
    }
    // Markup in the headings of sections.
    for group in [false, true] {
        let pieces = MARKUP.iter().chain(&SEQUENCES).chain(&DECEPTIVE);
        let sections = pieces.map(|piece| {
            if group {
                format!("##[group]{piece}\n{piece}\n")
            } else {
                format!("=== {piece} ===\n{piece}\n")
            }
        });
        all.push(sections.collect::<String>().into_bytes());
    }
    all.push(vec![b'<'; 200_000]);
    all.push("\x1b[31mx\x1b[32my".repeat(10_000).into_bytes());
    all.push("\u{202e}".repeat(20_000).into_bytes());
    all.push((0..=255).cycle().take(70_000).collect());
    all.push(b"\xff\xfe\xc0\xaf<script>\xed\xa0\x80window.pwned=1</script>".to_vec());
    all
}

#[test]
fn hostile_output_runs_nothing_and_loads_nothing() {
    let env = env_with_repo();
    let corpus = corpus();
    let pieces = MARKUP.len() + SEQUENCES.len() + DECEPTIVE.len();
    let texts = corpus.len() + 2 * pieces;
    assert!(texts >= 200, "{texts}");
    let mut task = String::from(
        "description = '''\nPrint <script>window.pwned=1</script> \u{202e}safely'''\n",
    );
    for (number, bytes) in corpus.iter().enumerate() {
        env.write(format!("../outputs/{number}"), bytes);
        let path = env.root().join("outputs").join(number.to_string());
        writeln!(
            task,
            "[[verification_steps]]\ntype = 'command'\ntarget = 'cat {}; exit 1'",
            path.display()
        )
        .unwrap();
    }
    let file = env.write("../task.toml", task);
    let hostile: String = MARKUP.concat();
    let markup = MARKUP.join("\n");
    let says = json!([[
        { "say": hostile },
        write("<img src=x onerror=pwned=1>.txt", &markup),
        write("<b>.py", &format!("import os\n{markup}")),
        ending(0.0)
    ]]);
    agents(&env, &[("hostile", says)]);
    env.commit("Before");
    let run = env.selvedge([
        "run",
        "--agent",
        "hostile",
        "--retries",
        "0",
        "--format",
        "json",
        "--file",
    ]);
    run.arg(&file).run().assert_code(1);

    let id = newest(&env);
    let ui = serve(&env);
    let browser = open_browser(&env, &ui);
    let base = format!("{}/tasks/{id}", ui.origin);
    let mut pages = vec![
        format!("{}/", ui.origin),
        format!(
            "{}/?q=%3Cscript%3Ewindow.pwned=1%3C/script%3E&agent=%22onx=&state=%27",
            ui.origin
        ),
        format!("{}/stats", ui.origin),
        base.clone(),
        format!("{base}/diff"),
        format!("{base}/attempts/1/diff"),
        format!("{base}/attempts/1/transcript"),
        format!("{base}/attempts/1/session"),
        format!("{base}/compare?a=1&b=1"),
        format!("{base}/attempts/1/checks/1?q=%3Cscript%3E"),
        format!("{base}/%3Cscript%3E"),
    ];
    let outputs = (1..=corpus.len()).map(|number| format!("{base}/attempts/1/checks/{number}"));
    pages.extend(outputs);
    browser.take_requested_urls();
    for page in &pages {
        browser.open_url(page);
        let state = browser.run_script(
            "return {
                pwned: typeof window.pwned,
                scripts: [...document.scripts].map(it => it.src),
                within: [...document.querySelectorAll('.output *, .digest pre *, .diff .l *, .moments *')]
                    .filter(it => !['SPAN', 'I'].includes(it.nodeName) || [...it.attributes].some(a => a.name !== 'class' && a.name !== 'aria-hidden')).length,
                foreign: document.querySelectorAll('iframe, object, embed, img, video, audio, base, style, [style], [onerror], [onload]').length,
                links: [...document.links].filter(it => it.origin !== location.origin).length,
                forms: [...document.forms].filter(it => new URL(it.action).origin !== location.origin).length,
                title: document.title.includes('pwned=1<') }",
            &[],
        );
        assert_eq!(state["pwned"], "undefined", "{page}");
        assert_eq!(
            state["scripts"].as_array().unwrap().len(),
            1,
            "{page}: {state}"
        );
        for none in ["within", "foreign", "links", "forms"] {
            assert_eq!(state[none], 0, "{page}: {none}: {state}");
        }
        assert!(browser.address().starts_with(&ui.origin), "{page}");
    }
    let requested = browser.take_requested_urls();
    assert!(requested.len() > pages.len(), "{}", requested.len());
    let foreign = requested.iter().filter(|it| !it.starts_with(&ui.origin));
    assert_eq!(foreign.collect::<Vec<_>>(), Vec::<&String>::new());
    // The browser would report resources that the content security policy has blocked: there were none.
    // (Unknown pages answer with 404.)
    let complaints = browser.take_page_errors().into_iter();
    let complaints = complaints
        .filter(|it| !it.contains("404"))
        .collect::<Vec<_>>();
    assert_eq!(complaints, Vec::<String>::new());
}

#[test]
fn large_output_is_shown_in_pages() {
    let env = env_with_repo();
    let flood =
        "i=0; while [ $i -lt 1600 ]; do cat ../block; i=$((i+1)); done; echo the very end; exit 1";
    env.write(
        "../block",
        format!("{}\n", "0123456789abcdef".repeat(16)).repeat(256),
    );
    agents(&env, &[("one", json!([[write("a", "b"), ending(0.0)]]))]);
    let run = env.selvedge([
        "run",
        "flood",
        "--agent",
        "one",
        "--retries",
        "0",
        "--check",
        flood,
    ]);
    run.run().assert_code(1);
    let id = newest(&env);
    let ui = serve(&env);
    let browser = open_browser(&env, &ui);
    let address = format!("{}/tasks/{id}/attempts/1/checks/1", ui.origin);
    browser.open_url(&address);
    browser.wait_for_text(".title", "MiB");
    assert!(
        browser
            .text("#output .output")
            .starts_with("0123456789abcdef")
    );
    browser.click("a[rel=next]");
    browser.wait_until("location.search === '?page=2'");
    let last = browser.run_script(
        "return [...document.querySelectorAll('.pages a')].find(it => it.textContent === 'last').href",
        &[],
    );
    browser.open_url(last.as_str().unwrap());
    browser.wait_for_text("#output", "the very end");
    let length = browser.run_script("return document.documentElement.outerHTML.length", &[]);
    assert!(length.as_u64().unwrap() < 400_000, "{length}");
}
