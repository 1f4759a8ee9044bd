//! JavaScript that replaces functions which the tests, their assertions or the runner use: built-in functions, Node's
//! modules, the assertion library, and globals of the runner; and sources that use the runner themselves.

use super::super::pattern::Pattern;
use super::super::text::SourceLanguage::JavaScript;
use super::Flag;
use super::change::ChangedLines;
use super::rules::is_tool_config;
use crate::model::{FindingKind, FindingSeverity};

/// `Array.prototype.map = …`, with the object and the name of its function.
static ASSIGNED: Pattern = Pattern::new(concat!(
    r"(?:^|[^.\w$])(?:global(?:This)?\.)?((?:Object|Array|String|Number|JSON|Reflect|RegExp|Map|Set|Promise|Date|Function)(?:\.prototype)?",
    r"|fs|fsp|fsPromises|Module(?:\.prototype)?|process)\.(\w+)\s*(?:&&|\|\||\?\?)?=[^=>]",
));
/// `Object.defineProperty(JSON, …`, `Object.assign(assert, …`, `mock.method(assert, …`, with the object.
static DEFINED: Pattern = Pattern::new(concat!(
    r"\b(?:(?:Object|Reflect)\.(?:definePropert(?:y|ies)|assign|set)|\w*[mM]ock\.(?:method|getter|setter)|\.(?:spyOn|stub|replace))\s*\(\s*",
    r"((?:global(?:This)?\.)?(?:Object|Array|String|Number|JSON|Math|Reflect|RegExp|Map|Set|Promise|Date|Function)(?:\.prototype)?",
    r"|fs|fsp|fsPromises|Module(?:\.prototype)?|process|assert\w*(?:\.strict)?|require\([^)]*\))\s*,",
));
/// The same for globals, with the name of the global, which is a string.
static DEFINED_GLOBAL: Pattern = Pattern::new(
    r"\b(?:Object|Reflect)\.(?:defineProperty|set)\s*\(\s*(?:global(?:This)?|window|self)\s*,\s*['\x22`](?:describe|it|test|expect|jest|vi|assert|suite|(?:before|after)(?:Each|All)?)['\x22`]",
);
/// Functions of these objects that replacements are about; objects may get methods of their own.
static REPLACED: Pattern = Pattern::new(concat!(
    r"^(?:is|keys|entries|values|assign|fromEntries|hasOwn|getOwn\w+|getPrototypeOf|defineProperty|freeze|isArray|from|of|parse|stringify|ownKeys|has|get|set|add|apply|construct",
    r"|forEach|map|flatMap|filter|every|some|find\w*|includes|indexOf|lastIndexOf|reduce\w*|join|slice|splice|sort|concat|flat|push|pop|toString|valueOf|at|with",
    r"|startsWith|endsWith|match|matchAll|replace|replaceAll|split|trim\w*|normalize|to(?:Lower|Upper)Case|localeCompare|char\w+|codePointAt|repeat|pad\w+",
    r"|test|exec|then|catch|finally|all|allSettled|any|race|call|bind|toFixed|toPrecision|isInteger|isNaN|isFinite|now",
    r"|read\w*|exists\w*|access\w*|l?stat\w*|open\w*|_\w+|require|wrap|exit|reallyExit|emit|abort|kill|hrtime|nextTick)$",
));
/// Names in a string: `defineProperty(process, "exitCode"`.
static NAMED: Pattern = Pattern::new(r",\s*['\x22`](\w+)['\x22`]");
static EXIT_STATUS: Pattern = Pattern::new(r"^(?:exitCode|exit|reallyExit|emit|abort)$");
/// The table of loaded modules, how modules are loaded, and globals that are replaced only where they exist.
static MODULE_TABLE: Pattern = Pattern::new(
    r"\brequire\.(?:cache|extensions)\s*\[[^=]*\]\s*=[^=>]|\bsyncBuiltinESMExports\b|\bglobal(?:This)?(?:\.\w+|\[[^\]]*\])\s*&&=",
);

/// Functions of runners, by their global names.
static RUNNER: Pattern = Pattern::new(concat!(
    r"(?:^|[^.\w$#'\x22`])(expect)\s*(?:\(|\.\s*(?:extend|any\w*|soft|add\w+|assertions)\b)|=\s*(expect|describe|jest|vi)\s*(?:[;,)]|$)",
    r"|(?:^|[^.\w$#'\x22`])((?:before|after)(?:Each|All))\s*\(|(?:^|[^.\w$#'\x22`])(describe|it|suite)(?:\.\w+)*\s*\(\s*['\x22`]",
    r"|(?:^|[^.\w$#'\x22`])(before|after)\s*\(\s*(?:async\b|function\b|\(\s*\)\s*=>)|(?:^|[^.\w$#'\x22`])(jest|vi)\.(?:\w*[mM]ock\w*|spyOn|fn|use\w*Timers|stub\w+|setTimeout)\b",
));
/// `expect(kind) {`: a method.
static METHOD: Pattern = Pattern::new(
    r"^\s*(?:(?:async|static|private|public|protected)\s+)*[#*]?\w+\s*(?:<[^>]*>)?\([^()]*\)\s*(?::[^{=]*)?\{",
);
/// A module that runs tests or mocks; `node:assert` is none, because products use it as well.
static FRAMEWORK: Pattern = Pattern::new(
    r"(?:\bfrom|\brequire\s*\(|\bimport\s*\(|\bimport)\s*['\x22`](?:node:test|bun:test|vitest|@vitest|@jest/globals|jest-(?:circus|jasmine2|mock|runner|runtime)|mocha|chai|expect|tape|tap|@tapjs|ava|uvu|qunit|jasmine(?:-core)?|@japa)(?:/[^'\x22`]*)?['\x22`]",
);
/// Names that the file takes from the globals do not become its own.
static FROM_GLOBALS: Pattern = Pattern::new(
    r"\{[^}]*\b(?:describe|it|expect|jest|vi|(?:before|after)Each)\b[^}]*\}\s*=\s*(?:global(?:This)?|window|self)\b",
);

/// Flags of JavaScript and TypeScript sources.
pub(super) fn flags(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    if file.language != JavaScript || is_tool_config(file.path) {
        return Vec::new();
    }
    let flag = |line: usize, what: &str| {
        Flag::new(
            Some(line),
            FindingKind::RunnerPatched,
            FindingSeverity::Strong,
            what,
        )
    };
    let lines = added.iter().copied().filter(|it| !file.is_test_line(*it));
    let used_before = file.had(&RUNNER) || file.had(&FRAMEWORK);
    let found = lines.filter_map(|line| {
        let code = file.new.code.get(line).map_or("", String::as_str);
        let text = file.new.text.get(line).map_or("", String::as_str);
        let next = file.new.text.get(line + 1).map_or("", String::as_str);
        if replaces_function(file, code, &format!("{text} {}", next.trim()))
            || MODULE_TABLE.is_match(code)
        {
            let what = "replaces a function that tests may use, so passing tests are not evidence";
            return Some(flag(line, what));
        }
        let uses_runner = FROM_GLOBALS.is_match(code)
            || (!used_before
                && (FRAMEWORK.is_match(text) || uses_global_of_runner(file, code, text)));
        uses_runner.then(|| flag(line, "uses the test runner in a source"))
    });
    found.collect()
}

fn replaces_function(file: &ChangedLines<'_>, code: &str, text: &str) -> bool {
    let group = |pattern: &Pattern, text: &str, group: usize| {
        let found = pattern.regex()?.captures(text)?;
        Some(found.get(group)?.as_str().to_owned())
    };
    if DEFINED_GLOBAL.is_match(text) {
        return true;
    }
    if ASSIGNED.is_match(code)
        && let (Some(object), Some(name)) = (group(&ASSIGNED, code, 1), group(&ASSIGNED, code, 2))
    {
        return REPLACED.is_match(&name) && !is_missing(file, &object, &name);
    }
    if DEFINED.is_match(code) {
        let object = group(&DEFINED, code, 1).unwrap_or_default();
        // `require("x")` of an assertion library or of a module of Node.
        let is_known = !object.starts_with("require")
            || ["assert", "chai", "fs", "module"]
                .iter()
                .any(|it| text.contains(&format!("{it}\"")) || text.contains(&format!("{it}'")));
        let name = group(&NAMED, text, 1);
        return is_known
            && match name {
                Some(name) if object == "process" => EXIT_STATUS.is_match(&name),
                Some(name) if object.starts_with(char::is_uppercase) => {
                    REPLACED.is_match(&name) && !is_missing(file, &object, &name)
                }
                Some(_) => true,
                // The names are on other lines, or in an object.
                None => object != "process" && !object.ends_with(".prototype"),
            };
    }
    false
}

/// Whether the file asks whether the function exists, as a replacement for old platforms does.
fn is_missing(file: &ChangedLines<'_>, object: &str, name: &str) -> bool {
    let member = format!("{object}.{name}");
    let asks = [
        format!("!{member}"),
        format!("typeof {member}"),
        format!("{member} ??="),
        format!("{member} ||="),
        format!("{member} === undefined"),
        format!("= {member} ||"),
        format!("= {member} ??"),
        format!("in {object}"),
    ];
    let mut code = file.new.code.iter();
    code.any(|line| asks.iter().any(|ask| line.contains(ask.as_str())))
}

/// Whether the line uses a name of a runner that the file does not define itself.
fn uses_global_of_runner(file: &ChangedLines<'_>, code: &str, text: &str) -> bool {
    // Strings are blank in the code, and only the text shows a title.
    if METHOD.is_match(code) || !RUNNER.is_match(text) {
        return false;
    }
    let found = RUNNER.regex().and_then(|regex| regex.captures(text));
    let name =
        found.and_then(|found| Some(found.iter().skip(1).flatten().next()?.as_str().to_owned()));
    name.is_some_and(|name| contains_word(code, &name) && !defines(file, &name))
}

fn contains_word(code: &str, word: &str) -> bool {
    code.split(|it: char| !it.is_alphanumeric() && it != '_' && it != '$')
        .any(|part| part == word)
}

/// Whether the file declares, imports or receives the name.
fn defines(file: &ChangedLines<'_>, name: &str) -> bool {
    let code = file.new.code.join("\n");
    let declaration = format!(
        r"\b(?:import|const|let|var|function|class)\s+(?:[\w$*\s]+,\s*)?(?:type\s+)?(?:\{{[^}}]*\b{name}\b[^}}]*\}}|{name}\b|\*\s*as\s+{name}\b)|[(,]\s*{name}\s*(?:[,:]|\)\s*(?:=>|\{{))"
    );
    regex::Regex::new(&declaration).is_ok_and(|regex| regex.is_match(&code))
}
