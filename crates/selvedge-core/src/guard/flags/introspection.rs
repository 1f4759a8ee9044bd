//! Decisions that depend on how the process runs: on its call stack, command line, loaded modules, or parent process.
//!
//! Products rarely decide by them, and there are more ways to ask for them than names of test runners could show.
//! Assignments, loops and returned values are followed from the question to the decision, within the added lines of a
//! file. Files of tests that sources look for or read are included: their presence is the same question.

use std::collections::BTreeSet;

use super::super::pattern::Pattern;
use super::super::text::SourceLanguage::{
    self, C, Curly, Go, JavaScript, Php, Python, Ruby, Rust, Shell,
};
use super::Flag;
use super::change::ChangedLines;
use super::functions::MAX_LINES_ABOVE;
use super::rules::is_entry;
use crate::model::{FindingKind, FindingSeverity};

/// How a language shows what runs the process.
struct Introspection {
    language: SourceLanguage,
    /// In the code.
    code: Pattern,
    /// In the code or its strings.
    text: Pattern,
    /// Usual code that decides by these, or a file to which `code` does not apply: programs read their command line.
    usual: Pattern,
}

const fn introspection(
    language: SourceLanguage,
    code: &'static str,
    text: &'static str,
    usual: &'static str,
) -> Introspection {
    Introspection {
        language,
        code: Pattern::new(code),
        text: Pattern::new(text),
        usual: Pattern::new(usual),
    }
}

/// The processes that run: `/proc/self`, `/proc/<id>`.
const PROC: &str = r"/proc/(?:self|thread-self|\d|\{|%|\$|['\x22`])";

static INTROSPECTIONS: [Introspection; 9] = [
    introspection(
        Python,
        concat!(
            r"\bsys\._getframe\s*\(|\b(?:inspect\.(?:stack|getouterframes)|(?:inspect\.)?currentframe)\s*\(|\.f_back\b|\btraceback\.(?:extract|format|walk)_stack\s*\(",
            r"|\bsys\.(?:modules|meta_path|path_hooks|_current_frames|__std(?:out|err|in)__)\b|\bgc\.get_(?:objects|referrers)\s*\(|\bfaulthandler\.is_enabled\s*\(",
            r"|\b(?:getLogger\s*\(\s*\)|logging\.root)\.handlers\b|\b__main__\.|\bos\.getppid\s*\(|\bpsutil\.Process\b|\bsys\.gettrace\s*\(",
            r"|\btype\s*\(\s*sys\.std(?:in|out|err)\b|\bsys\.std(?:in|out|err)\.__class__|\bsys\.(?:__)?unraisablehook\b|\bthreading\.(?:__)?excepthook\b|\bwarnings\.filters\b|\blen\s*\(\s*os\.environ\b|\bsys\.get(?:refcount|profile)\s*\(|\bthreading\.active_count\s*\(|\bsys\.(?:getallocatedblocks|path_importer_cache|getswitchinterval|flags\.hash_randomization)\b|\bos\.(?:getsid|getpgrp|getpgid|tcgetpgrp|ttyname|ctermid)\s*\(|\bos\.fstat\s*\(\s*[012]\s*\)|\bsys\.std(?:in|out|err)\.(?:line_buffering|write_through|mode)\b|\bException\.__subclasses__|\bBaseException\.__subclasses__|\bcopy_context\s*\(\s*\)|\b(?:time\.)?thread_time\s*\(|\.findCaller\s*\(|\bf_trace\b|\binspect\.getsource(?:lines)?\s*\(|\bsys\.path\s*\[\s*0\s*\]",
        ),
        r"/proc/(?:self|thread-self|\d|\{|%|['\x22])|['\x22][^'\x22]*\bf_back\b[^'\x22]*['\x22]|['\x22]ps['\x22]\s*,|['\x22]ps\s+-|\bfind_spec\s*\(\s*['\x22](?:_?pytest|pluggy|unittest|nose)",
        r"\bsys\.modules\s*(?:\[|\.get\s*\(|\.pop\s*\().*__(?:name|module|package|class)__|__(?:name|module|package)__\s+(?:not\s+)?in\s+sys\.modules|\bsys\.modules\s*\[[^\]]*\]\s*=[^=]|\bdel\s+sys\.modules\b",
    ),
    introspection(
        JavaScript,
        concat!(
            r"\bError\s*\([^)]*\)\s*\)?\.stack\b|\bcaptureStackTrace\b|\bprepareStackTrace\b|\bprocess\.(?:execArgv|ppid|title|mainModule|_getActiveHandles)\b",
            r"|\brequire\.(?:main|cache)\b|\bmodule\.(?:parent|children|constructor)\b|\bimport\.meta\b.*\b(?:MODE|DEV|PROD|SSR|TEST)\b|\bprocess\.listeners?(?:Count)?\s*\(",
            r"|\bError\.stackTraceLimit\b|\bprocess\.(?:report|getActiveResourcesInfo|eventNames|argv0|domain)\b|\b(?:executionAsyncId|triggerAsyncId|executionAsyncResource|eventLoopUtilization)\s*\(|\bnodeTiming\b|\bprocess\.(?:moduleLoadList|_events|rawListeners|std(?:in|out|err)\._\w+)\b|\bimport\.meta\.resolve\b|\bkeys\s*\(\s*import\.meta\s*\)",
            r"|\bObject\.(?:keys|entries|values|getOwnPropertyNames|getOwnPropertySymbols)\s*\(\s*(?:global|globalThis|require\.cache)\b|\bObject\.\w+\s*\(\s*process\.env\s*\)\.length\b|\bcreateHook\s*\(",
        ),
        concat!(
            r"/proc/(?:self|thread-self|\d|\{|%|\$|['\x22`])",
            r"|\bNODE_ENV\b"
        ),
        r"\brequire\.main\s*[!=]==?\s*module\b|\bmodule\s*[!=]==?\s*require\.main\b|!\s*module\.parent\b|\bimport\.meta\.(?:url|filename|main)\b|['\x22`](?:production|development)['\x22`]|\bNODE_ENV['\x22\]]*\s*(?:\|\||\?\?)\s*['\x22`](?:prod|dev|local|staging)['\x22`]|\bNODE_ENV['\x22\]]*\s*!==?\s*['\x22`]test|!\s*process\.env\.NODE_ENV\b.*\bthrow\b|\bif\s*\(\s*(?:typeof\s+)?Error\.captureStackTrace\b|\bError\.captureStackTrace\s*&&|\bconsole\.\w+\s*\(",
    ),
    introspection(
        Go,
        r"\bruntime\.(?:Callers?|CallersFrames|Stack|FuncForPC|NumGoroutine)\s*\(|\bdebug\.(?:Stack|ReadBuildInfo)\s*\(|\bos\.(?:Executable|Getppid)\s*\(|\blen\s*\(\s*os\.Environ\s*\(|\bflag\.(?:Lookup|VisitAll|CommandLine\.(?:Lookup|VisitAll))\b",
        PROC,
        r"\berr\s*[!=]=\s*nil\b",
    ),
    introspection(
        Ruby,
        r"\bcaller(?:_locations)?\b|\bThread\.current\.backtrace|\$(?:PROGRAM_NAME|0|LOADED_FEATURES)\b|\$\x22|\bGem\.loaded_specs\b|\bSymbol\.all_symbols\b|\bThread\.list\b|\b(?:Object|Kernel)\.(?:const_source_location|private_method_defined\?|instance_methods|private_instance_methods|send|__send__)|\bKernel\.respond_to\?|\bTOPLEVEL_BINDING\b|\.source_location\b|\.backtrace(?:_locations)?\s*\.\s*(?:size|length|count|any|find|first|last|join|grep|map)\b|\bObjectSpace\.each_object\b|\bProcess\.(?:ppid|argv0)\b|\bObject\.constants\b",
        PROC,
        r"__FILE__|\b__dir__\b",
    ),
    introspection(
        Php,
        r"\bdebug_backtrace\s*\(|\bget_(?:included|required)_files\s*\(|\bget_declared_classes\s*\(|\bposix_getppid\s*\(|\$argv\b|\bob_(?:get_level|get_status|list_handlers)\s*\(|\bset_(?:error|exception)_handler\s*\(\s*null\b|\bget_(?:error|exception)_handler\s*\(|\bspl_autoload_functions\s*\(|\(\s*new\b[^;]*\)\s*->\s*getTrace(?:AsString)?\s*\(|\bget_include_path\s*\(|\bReflectionFunction\b.*\bget(?:StartLine|EndLine|FileName)\b",
        r"/proc/(?:self|\d|\$|['\x22])|\$_SERVER\[['\x22](?:argv|SCRIPT_NAME|SCRIPT_FILENAME|PHP_SELF|_)['\x22]\]",
        // Buffers are ended up to a level.
        r"__FILE__|\bwhile\b|\bob_(?:end_|get_)?(?:clean|flush)\s*\(",
    ),
    introspection(
        Rust,
        r"\b(?:current_exe|parent_id)\s*\(|\bLocation::caller\s*\(|\b(?:vars|vars_os)\s*\(\s*\)\.count\b|\bthread::current\s*\(|\bBacktrace::(?:force_)?capture\b|\bcfg!\s*\(\s*(?:not\s*\(\s*)?debug_assertions\b",
        r"/proc/(?:self|thread-self|\d|\{|\x22)|\b(?:option_)?env!\s*\(\s*\x22CARGO_(?:BIN|PRIMARY|CRATE)_",
        r"\bcurrent\s*\(\s*\)\s*\.id\s*\(",
    ),
    introspection(
        Curly,
        r"\bgetStackTrace\s*\(|\bStackWalker\b|\bStackTrace\s*\(|\bcurrentThread\s*\(\s*\)\.getName\s*\(|\bgetAllStackTraces\s*\(|\bgetRuntimeMXBean\b|\bProcessHandle\.current\s*\(",
        r"/proc/(?:self|\d|\x22)|\x22(?:java\.class\.path|sun\.java\.command)\x22",
        r"\bnull\b",
    ),
    introspection(
        C,
        r"\bprogram_invocation(?:_short)?_name\b|\b__progname\b|\bgetprogname\s*\(|\bgetppid\s*\(|\bdladdr\s*\(|\bdlsym\s*\(|\bbacktrace(?:_symbols)?\s*\(|\b__builtin_return_address\b|\bAT_EXECFN\b",
        r"/proc/(?:self|\d|%|\x22)",
        r"\bNULL\b",
    ),
    introspection(
        Shell,
        r"\$\{?PPID\b|/proc/(?:self|\$|\d)|\bps\s+-?\w*o\b|\bpgrep\b|(?:^|[\s(`])caller\b",
        r"\$\{?(?:MAKELEVEL|MAKEFLAGS|MFLAGS|BATS_\w+|SHUNIT\w*|CTEST_\w+)\b",
        r"\bkill\b",
    ),
];

/// Processes and threads that others start, in a file that does not talk to them.
static STARTED: Pattern = Pattern::new(r"\bisMainThread\b|\bprocess\.(?:send|connected)\b");
static TALKS: Pattern =
    Pattern::new(r"\b(?:workerData|parentPort)\b|\bprocess\.send\s*(?:\?\.)?\s*\(");

/// The command line, which a library does not read.
static COMMAND_LINE: Pattern = Pattern::new(
    r"\bsys\.(?:orig_)?argv\b|\bprocess\.argv\b|\bos\.Args\b|\bARGV\b|\benv::args(?:_os)?\s*\(",
);
/// A source that is or supports a program.
static PROGRAM: Pattern = Pattern::new(
    r"__main__|^#!|\bargparse\b|\boptparse\b|\bimport\s+(?:click|typer|fire)\b|\bparseArgs\b|\bcommander\b|\byargs\b|\bdef\s+(?:main|cli|run|parse_\w*)\b|^package\s+main\b|\bfn\s+main\b|\bfunction\s+(?:main|cli|run)\b|\bOptionParser\b|\bclap\b",
);
static EXPORTS: Pattern = Pattern::new(r"^\s*export\b|\bexports\b");

/// A condition, a comparison, or a search.
static DECISION: Pattern = Pattern::new(concat!(
    r"\b(?:if|elif|elsif|unless|while|until|switch|match|case|when|and|or|not|in|is|assert|any|all|bool|len|strcmp|strncmp|strstr|fnmatch|grep)\b",
    r"|&&|\|\||[=!]=|=~|\s[<>]=?\s|\?[^.?:>]|\?\s|![A-Za-z_$(]|\bHas(?:Prefix|Suffix)\b|\bContains\b|\bstr(?:i?pos|_contains|_ends_with|_starts_with)\b|\bpreg_match\b",
    r"|\.(?:startswith|endswith|find|count|search|match|includes|startsWith|endsWith|indexOf|test|some|every|has|contains|starts_with|ends_with|anyMatch|equals|is_some_and|map_or)\s*\(|\.(?:include|start_with|end_with|match|any)\?|\.f_locals\b|\bco_consts\b",
));
/// `if frame is None`: a stack may be unavailable.
static ABSENCE: Pattern = Pattern::new(r"\bis\s+(?:not\s+)?None\b");
/// Whether a variable is set.
static EXISTS: Pattern = Pattern::new(r"\.is_(?:some|none|ok|err)\s*\(|[=!]=|!!|\bisset\s*\(");
static LOOP: Pattern = Pattern::new(
    r"\bfor\s*\(?\s*(?:const\s+|let\s+|var\s+)?([\w$]+(?:\s*,\s*[\w$]+)*)\s*(?:in|of|:=\s*range)\b",
);
static ASSIGNMENT: Pattern = Pattern::new(r"^([^=(){}\[\]!<>\x22']*[\w$])\s*(?::=|=)[^=>~]");
/// The parameter of a function that is given to what is asked: `flag.VisitAll(func(it *flag.Flag) {`.
static CALLBACK: Pattern = Pattern::new(
    r"(?:\(\s*func\s*\(|\(\s*\(?|(?:\{|\bdo)\s*\|)\s*([\w$]+)(?:\s+[\w.*]+\s*\)|\s*\)?\s*=>|\s*\|)\s*\{?\s*$",
);
static FUNCTION: Pattern = Pattern::new(
    r"^\s*(?:(?:pub(?:\([^)]*\))?|public|private|protected|internal|export|default|static|async|final|const|unsafe|inline|local)\s+)*(?:def|fn|func|fun|function|sub)\s+(?:\([^)]*\)\s*)?(?:self\.)?([A-Za-z_$][\w$?!]*)|^\s*(?:export\s+)?(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=.*=>|^\s*([A-Za-z_][\w-]*)\s*\(\s*\)\s*\{",
);
static RETURNS: Pattern = Pattern::new(r"\breturn\b|=>|\blambda\b|\byield\b");
/// The end of a body whose last expression is its value, and of any other.
static BODY_END: Pattern = Pattern::new(r"^\s*(?:\}|end\b)");
const KEYWORDS: [&str; 12] = [
    "const", "let", "var", "final", "static", "auto", "mut", "my", "local", "global", "export",
    "readonly",
];
/// Names that only say whether there is an answer.
const WHETHER_KNOWN: [&str; 5] = ["_", "err", "error", "ok", "found"];
/// A chain of assignments and calls is followed this far.
const MAX_STEPS: usize = 4;

/// Files of tests, by an operation that looks for them or reads them.
static TEST_FILES: Pattern = Pattern::new(concat!(
    r"(?:\b(?:open|fopen|exists|exists_ok|is_?dir|is_?file|isDirectory|existsSync|statSync|access|accessSync|[Ss]tat|[li]?glob|rglob|globSync|listdir|scandir|iterdir|readdir|readdirSync|ReadDir",
    r"|read_text|read_bytes|read_to_string|readFile|readFileSync|ReadFile|file_get_contents|file_exists|Path|load|loads|include_str!|include!|exist\?|file\?|directory\?|read|readlines|Dir|Join|join)",
    r"\s*[\[(]+[^\n]{0,40}|\[\s+-[edfrs]\s*|\btest\s+-[edfrs]\s*)",
    r"['\x22`\s](?:[\w.{}$-]*/)*(?:(?:tests?|specs?|__tests__|testdata)(?:/[^'\x22`\s]*)?['\x22`\]\s]|(?:conftest\.py|pytest\.ini|test_\w+\.py|[\w-]+[._-](?:test|spec)\.[cm]?[jt]sx?|\w+_test\.go|\w+_spec\.rb|phpunit\.xml|\.rspec|[\w-]+[_-]tests?)['\x22`\s])",
));
/// Generators of projects create files of tests.
static CREATES: Pattern = Pattern::new(
    r"\.(?:mkdir|touch|write_text|write_bytes|writelines)\s*\(|\b(?:makedirs|mkdirSync|writeFileSync|create_dir(?:_all)?|MkdirAll|WriteFile)\s*\(|\bfs::write\s*\(",
);
/// The environment or a folder as a whole, searched for what runners set, or for tests.
static SEARCHED: Pattern = Pattern::new(
    r"\bos\.environ\b(?:[^.\[]|\.(?:keys|items|copy)|$)|\b(?:keys|entries|values)\s*\(\s*process\.env\b|\bin\s+process\.env\b|\bos\.Environ\s*\(|\bENV\.(?:keys|any\?|each|find|key\?|to_h)|\benv::vars(?:_os)?\s*\(|\bgetenv\s*\(\s*\)|\bextern\s+char\s*\*\*\s*environ\b|\bSystem\.getenv\s*\(\s*\)|\b(?:listdir|scandir|iterdir|readdir(?:Sync)?|ReadDir|[ir]?glob(?:Sync)?|Glob)\s*\(|\bDir(?:\.\w+|\s*\[)",
);
static SEARCHED_WORD: Pattern = Pattern::new(
    r"['\x22`/][^'\x22`/]*(?i:pytest|py_?test|unittest|jest|vitest|mocha|node_test|phpunit|rspec|minitest|surefire|nextest|gotest|npm_|tox|nox_|coverage|selvedge|(?:^|[^a-z])test(?:[^a-z]|$))[^'\x22`/]*['\x22`/]|['\x22`](?i:test|ci|_test|test_)['\x22`]",
);
/// A text that names a runner, or a part of one.
static RUNNER_NAME: Pattern = Pattern::new(
    r"(?i)['\x22`/][^'\x22`/]*(?:pytest|pluggy|iniconfig|xdist|hypothesis|unittest|doctest|\bnose|jest|vitest|tinypool|mocha|node:test|phpunit|rspec|minitest|surefire|junit|nextest|libtest)[^'\x22`/]*['\x22`/]",
);
/// Code that imports modules by their names also asks whether they are loaded.
static IMPORTS: Pattern = Pattern::new(r"\bimport_module\s*\(|\bsys\.modules\s*\[\s*\w+\s*\]");
/// A module that is named like a test.
static TEST_MODULE: Pattern = Pattern::new(r"['\x22](?:[a-z_.]*_)?tests?(?:[_.][a-z_.]*)?['\x22]");
static QUOTE: Pattern = Pattern::new(r"['\x22`]");
/// The program's name.
static PROGRAM_NAME: Pattern = Pattern::new(
    r"\b(?:argv|orig_argv|Args)\s*\[\s*0\s*\]|\bprocess\.argv\s*\[\s*1\s*\]|\borig_argv\b|\bargs(?:_os)?\s*\(\s*\)\s*\.\s*(?:next\s*\(|nth\s*\(\s*0)",
);
/// Modules that are asked for by a name: only runners are suspicious.
static MODULE_TABLE: Pattern = Pattern::new(r"\bsys\.modules\b");

/// Flags decisions by how the process runs.
pub(super) fn flags(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    let own = INTROSPECTIONS
        .iter()
        .find(|it| it.language == file.language);
    let Some(own) = own else {
        return Vec::new();
    };
    let is_entry = is_entry(file);
    let has = |pattern: &Pattern| file.new.text.iter().any(|line| pattern.is_match(line));
    let is_program = is_entry
        || has(&PROGRAM)
        || (file.language == JavaScript && !has(&EXPORTS))
        || file.line_now(0).is_some_and(|line| line.starts_with("#!"));
    let talks = has(&TALKS);
    let imports = has(&IMPORTS);
    let code = |line: usize| file.new.code.get(line).map_or("", String::as_str);
    let text = |line: usize| file.new.text.get(line).map_or("", String::as_str);
    let asks_tool = |line: usize| !is_entry && reads_variable_of_tools(text(line));
    let asks = |line: usize| {
        let (code, text) = (code(line), text(line));
        let names_nothing = !QUOTE.is_match(text);
        let names_runner = || RUNNER_NAME.is_match(text) || names_part_of_runner(text);
        let is_usual = own.usual.is_match(text)
            || sets_up_logging(file, line)
            || (MODULE_TABLE.is_match(code) && names_nothing && imports)
            || (MODULE_TABLE.is_match(code)
                && !names_nothing
                && !names_runner()
                && !TEST_MODULE.is_match(text));
        let reads_command_line = || {
            !is_program
                && COMMAND_LINE.is_match(code)
                && (names_nothing || names_runner() || PROGRAM_NAME.is_match(code))
        };
        let is_started = || file.language == JavaScript && !talks && STARTED.is_match(code);
        (SEARCHED.is_match(code) && SEARCHED_WORD.is_match(text))
            || asks_tool(line)
            || (!is_usual
                && (own.code.is_match(code)
                    || own.text.is_match(text)
                    || reads_command_line()
                    || is_started()))
    };
    let lines: Vec<usize> = added
        .iter()
        .copied()
        .filter(|line| !file.is_test_line(*line))
        .collect();
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut found: BTreeSet<usize> = BTreeSet::new();
    for _ in 0..MAX_STEPS {
        let before = (names.len(), found.len());
        for &line in &lines {
            let carries = || {
                let mut words = words(code(line));
                !own.usual.is_match(text(line)) && words.any(|word| names.contains(word))
            };
            if !asks(line) && !carries() {
                continue;
            }
            if decides(code(line)) || (asks_tool(line) && EXISTS.is_match(code(line))) {
                found.insert(line);
            }
            names.extend(assigned_names(code(line)));
            names.extend(destructured_names(code(line), &own.text));
            let next = file.new.code.get(line + 1).map_or("", String::as_str);
            if RETURNS.is_match(code(line)) || BODY_END.is_match(next) {
                names.extend(enclosing_function(file, line));
            }
        }
        if before == (names.len(), found.len()) {
            break;
        }
    }
    if !is_entry {
        found.extend(
            lines.iter().filter(|line| {
                TEST_FILES.is_match(text(**line)) && !CREATES.is_match(code(**line))
            }),
        );
    }
    let what = "decides by how the process runs (call stack, command line, loaded modules, files of tests), as code that detects tests does";
    let flag = |line| {
        Flag::new(
            Some(line),
            FindingKind::TestDetection,
            FindingSeverity::Strong,
            what,
        )
    };
    found.into_iter().map(flag).collect()
}

/// Whether a line asks for handlers of logs, and its block does nothing but add the first one.
fn sets_up_logging(file: &ChangedLines<'_>, line: usize) -> bool {
    static ASKS: Pattern = Pattern::new(
        r"^\s*if\s+not\s+(?:logging\.)?(?:getLogger\s*\(\s*\)|root)\.(?:handlers|hasHandlers\s*\(\s*\))\s*:\s*$",
    );
    static ADDS: Pattern = Pattern::new(r"^\s*(?:\w+\.)*(?:basicConfig|addHandler)\s*\([^;]*$");
    let Some(code) = file.new.code.get(line).filter(|code| ASKS.is_match(code)) else {
        return false;
    };
    let indent = |code: &str| code.len() - code.trim_start().len();
    let block = file.new.code[line + 1..].iter();
    let block = block.take_while(|it| it.trim().is_empty() || indent(it) > indent(code));
    let mut statements = block.filter(|it| !it.trim().is_empty());
    let Some(first) = statements.next().filter(|first| ADDS.is_match(first)) else {
        return false;
    };
    // The arguments may take further lines.
    statements.all(|it| !it.contains(';') && (indent(it) > indent(first) || it.trim() == ")"))
}

/// Whether a line reads an environment variable that tools set for the programs that they build or start.
fn reads_variable_of_tools(text: &str) -> bool {
    static READ: Pattern = Pattern::new(
        r"\b(?:getenv|environ|LookupEnv|Getenv|getProperty)\b|\benv::var(?:_os)?\b|\bprocess\.env\b|\bENV\b|\$_(?:ENV|SERVER)\b|\b(?:option_)?env!",
    );
    static VARIABLE: Pattern = Pattern::new(
        r"\b(?:RUSTUP_\w+|RUST_RECURSION_COUNT|(?:DY)?LD_LIBRARY_PATH|LD_PRELOAD|TOX_\w+|NOX_\w+|BUNDLE_\w+|BUNDLER_\w+|RUBYOPT|RUBYLIB|GOCOVERDIR|GOFLAGS|GO_TEST\w*|COVERAGE_(?:RUN|PROCESS_\w+)|COV_CORE_\w+|PYTHONBREAKPOINT|XDEBUG_\w+|BATS_\w+|BAZEL_\w+|TEST_(?:SRCDIR|TMPDIR|WORKSPACE)|BUILD_WORKSPACE_DIRECTORY|MESON_\w+|AUTOMAKE\w*|SELVEDGE_\w+)\b",
    );
    READ.is_match(text) && VARIABLE.is_match(text)
}

/// Whether a string of a line that searches is a part of the name of a runner's module, such as `_py`.
fn names_part_of_runner(text: &str) -> bool {
    const MODULES: [&str; 9] = [
        "_pytest",
        "pluggy",
        "iniconfig",
        "xdist",
        "hypothesis",
        "unittest",
        "doctest",
        "nose",
        "coverage",
    ];
    static SEARCH: Pattern = Pattern::new(
        r"\bfor\b.*\bin\b|\.(?:startswith|endswith|find|index|count|match|search)\s*\(",
    );
    let strings = text.split(['\'', '"']).skip(1).step_by(2);
    SEARCH.is_match(text)
        && strings
            .filter(|it| it.len() > 1)
            .any(|part| MODULES.iter().any(|module| module.contains(part)))
}

/// Whether a line of code decides something, apart from whether a value exists.
fn decides(code: &str) -> bool {
    static DEFAULT: Pattern = Pattern::new(
        r"(?:\bor\b|\|\|)\s*[\x22'`]\s*[\x22'`]\s*\)*\s*;?\s*$|\bif\s+[\w.]+(?:\s+and\s+[\w.]+)*\s+else\s+None\b",
    );
    // `a ?? b`, `a or "b"` and `a if a else None` choose by whether a value exists.
    let code = code.replace("??", "");
    let plain = DEFAULT.regex().map(|regex| regex.replace_all(&code, ""));
    let code = plain.as_deref().unwrap_or(&code).to_owned();
    let loops = LOOP.regex().map(|regex| regex.replace_all(&code, ""));
    let code = loops.as_deref().unwrap_or(&code);
    let absent = ABSENCE.regex().map(|regex| regex.replace_all(code, ""));
    match absent {
        // `if frame is None:` has no other condition.
        Some(rest) if rest.len() < code.len() => {
            let rest = rest
                .trim()
                .trim_start_matches("if ")
                .trim_start_matches("elif ");
            DECISION.is_match(rest)
        }
        _ => DECISION.is_match(code),
    }
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|it: char| !it.is_alphanumeric() && it != '_' && it != '$')
        .filter(|word| word.len() > 1 || word.chars().all(char::is_alphabetic))
        .filter(|word| !word.is_empty())
}

/// The names of `const { a: b, c } = …`: those of the members that a language's pattern matches, or else all.
fn destructured_names<'c>(code: &'c str, asked: &Pattern) -> Vec<&'c str> {
    static MEMBERS: Pattern = Pattern::new(r"^\s*(?:const|let|var)\s*\{([^{}]*)\}\s*=[^=>]");
    let members = MEMBERS.regex().and_then(|regex| regex.captures(code));
    let Some(members) = members.and_then(|found| found.get(1)) else {
        return Vec::new();
    };
    let members: Vec<&str> = members.as_str().split(',').map(str::trim).collect();
    let named: Vec<&str> = members
        .iter()
        .copied()
        .filter(|member| asked.is_match(member))
        .collect();
    let members = if named.is_empty() { members } else { named };
    let names = members.into_iter().filter_map(|member| {
        let target = member.split('=').next()?;
        target.rsplit(':').next().map(str::trim)
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// The names that a line assigns to, that it loops with, or that it gives to a function.
fn assigned_names(code: &str) -> Vec<&str> {
    let part = |pattern: &Pattern| {
        let found = pattern.regex()?.captures(code)?;
        found.get(1).map(|it| it.as_str())
    };
    let targets = [part(&LOOP), part(&ASSIGNMENT), part(&CALLBACK)];
    let targets = targets.into_iter().flatten().flat_map(|it| it.split(','));
    targets
        .filter_map(|target| {
            let name = target.split(':').next().unwrap_or(target);
            let name = name.split_whitespace().next_back()?;
            let name = name.trim_start_matches(['*', '&', '@']);
            let is_name = name
                .chars()
                .all(|it| it.is_alphanumeric() || it == '_' || it == '$');
            let is_followed = !KEYWORDS.contains(&name) && !WHETHER_KNOWN.contains(&name);
            (is_name && is_followed).then_some(name)
        })
        .collect()
}

/// The name of the function that a line belongs to.
fn enclosing_function<'f>(file: &'f ChangedLines<'_>, line: usize) -> Option<&'f str> {
    let indent = |code: &str| code.len() - code.trim_start().len();
    let own = indent(file.new.code.get(line)?);
    let above = file.new.code.get(..=line)?.iter().enumerate().rev();
    for (index, code) in above.take(MAX_LINES_ABOVE) {
        if code.trim().is_empty() || (index < line && indent(code) >= own) {
            continue;
        }
        let found = FUNCTION.regex()?.captures(code);
        let name = found.and_then(|it| it.iter().skip(1).flatten().next());
        if let Some(name) = name {
            return Some(name.as_str());
        }
    }
    None
}
