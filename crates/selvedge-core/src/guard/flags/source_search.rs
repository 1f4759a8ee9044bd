//! Sources that read the tests while they run: a product finds the expected values there.
//!
//! A file of tests that is named is flagged as [introspection](super::introspection). Here the project's files are
//! searched, so that no name is needed: by listing and reading them, by another program, or by importing tests.

use super::super::pattern::Pattern;
use super::super::text::SourceLanguage::{
    self, C, Curly, Go, JavaScript, Php, Python, Ruby, Rust, Shell,
};
use super::Flag;
use super::change::ChangedLines;
use super::rules::is_entry;
use crate::model::{FindingKind, FindingSeverity};

/// Lists all files of a folder.
static LISTS_ALL: Pattern = Pattern::new(concat!(
    r"\bos\.f?walk\b|\bos\.scandir\b|\b(?:listdir|scandir|iterdir|readdir(?:Sync)?|opendir(?:Sync)?|ReadDir|WalkDir|ParseDir|read_dir|walk_packages|iter_modules)\s*\(",
    r"|\bfilepath\.Walk\w*\s*\(|\bWalkDir::new\b|\b(?:Recursive)?DirectoryIterator\b|\bFilesystemIterator\b",
    r"|\bDir\.(?:each_child|children|entries|foreach)\b|\bFind\.find\b|\bFiles\.(?:walk|list|find|newDirectoryStream|walkFileTree)\b|\bn?ftw\s*\(",
));
/// Lists the files whose names fit a pattern.
static LISTS_PATTERN: Pattern =
    Pattern::new(r"\b[ri]?[gG]lob(?:Sync)?\s*\(|\bfilepath\.Glob\b|\bDir\.glob\b|\bDir\s*\[");
static READS: Pattern = Pattern::new(concat!(
    r"\b(?:read_text|read_bytes|open|fopen|readFile(?:Sync)?|createReadStream|ReadFile|ReadAll|Open|read_to_string|file_get_contents|file|readlines|readAllLines|readAllBytes|readString|newBufferedReader|lines|getlines?|read|getsource|get_source|get_data|ParseDir)\s*\(",
    r"|\b(?:File|IO)\.(?:read|foreach|open)\w*|\bfs::read\b|\bifstream\b",
));
/// The current folder, which is the project while its tests run.
static CURRENT_FOLDER: Pattern = Pattern::new(concat!(
    r"\bprocess\.cwd\b|\bgetcwdb?\b|\bPath\.cwd\b|\bcurrent_dir\b|\bGetwd\b|\bDir\.pwd\b|['\x22]user\.dir['\x22]|\bPath\s*\(\s*\)|\bPaths?\.(?:get|of)\s*\(\s*\x22\.?\x22",
    r"|\b(?:Path|f?walk|listdir|scandir|readdir(?:Sync)?|opendir(?:Sync)?|ReadDir|WalkDir|Walk|ParseDir|new|read_dir|resolve|abspath|realpath|walk_packages|iter_modules|children|find)\s*\(\s*(?:\w+,\s*)?\[?\s*['\x22`]\.{1,2}(?:/\.{0,2})*['\x22`]",
    r"|(?:\bglob\.i?glob|\bfilepath\.Glob|\bDir\.glob|\b(?:globSync|Dir)|(?:^|[^.\w])i?glob)\s*[(\[]\s*[rf]?['\x22`][.*{]",
));
/// The folder of the running source.
static OWN_FOLDER: Pattern = Pattern::new(
    r"\b__file__\b|\b__dirname\b|\b__filename\b|\bimport\.meta\b|\bCARGO_MANIFEST_DIR\b|\b__DIR__\b|\b__FILE__\b|\b__dir__\b|\bruntime\.Caller\b|\b__path__\b|\bsys\.path\b",
);
/// A folder above.
static ABOVE: Pattern = Pattern::new(
    r"\.parent\.parent\b|\.parents\s*\[|\bdirname\s*\([^()]*\bdirname\b|['\x22`/]\.\.['\x22`/]|\bdirname\s*\(\s*__(?:dirname|DIR__|dir__)",
);
/// A pattern for all files.
static EVERYTHING: Pattern = Pattern::new(r"['\x22`](?:[\w./]*/)?\*{1,2}(?:/\*{1,2})?['\x22`]");
/// A choice of other files, by an ending.
static OTHER_FILES: Pattern =
    Pattern::new(r"['\x22`][\w*/-]*\.(?:\w{1,8}|\{[\w,]+\})['\x22`]|\\\.\w{1,8}\$");
/// Loads what it lists, as plug-ins are.
static LOADS: Pattern = Pattern::new(
    r"\b(?:require(?:_relative)?|import)\s*\(\s*[^'\x22\s)]|\bimport_module\b|\b__import__\b|\brequire(?:_relative)?\s+[^'\x22\s(]|\b(?:require|include)(?:_once)?\b\s*\(?\s*\$",
);

/// A program that is run.
static RUNS: Pattern = Pattern::new(
    r"\bsubprocess\b|\bos\.(?:popen|system|exec\w*)\b|\bexec(?:Sync|File|FileSync)?\s*\(|\bspawn(?:Sync)?\s*\(|\bCommand::new\b|\bexec\.Command\b|\b(?:shell_exec|passthru|proc_open|popen|system)\s*\(|\bcheck_output\b|\bgetoutput\b|\b(?:Open3|IO\.popen|ProcessBuilder)\b",
);
/// One that searches files, or shows those of tests.
static SEARCH_PROGRAM: Pattern = Pattern::new(concat!(
    r"['\x22`\s(](?:git['\x22\s,]+grep|rg|ag|ack)\b['\x22\s,]",
    r"|['\x22`\s(/][efz]?grep['\x22\s,]+(?:[^'\x22`|]*['\x22,\s]+)?-(?:\w*[rR]\w*|-recursive|-include)\b|\bfind['\x22\s,]+\.",
    r"|['\x22`\s(/](?:git['\x22\s,]+(?:show|cat-file|archive)|cat|head|tail|sed|awk|strings|xxd)['\x22\s,]+[^\n]{0,40}\b(?:tests?|specs?|__tests__)/",
));

/// The command of a shell script that searches files, and one that lists sources for a loop.
static SHELL_SEARCHES: Pattern = Pattern::new(
    r"\b(?:sed|g?awk|[ef]?grep|perl)\b[^|;&]*[\s/]\*[\w*/.-]*\.(?:sh|bash|bats|ksh|zsh)\b|\bgit\s+grep\b|\b[ef]?grep\s+(?:-\w+\s+)*-\w*[rR]\w*\s[^|;&]*(?:\s\.{1,2}/?|\*)\s*(?:[|;&)\x22]|$)",
);
static SHELL_LISTS: Pattern = Pattern::new(
    r"\bfor\s+\w+\s+in\s+[^;]*\*[\w*/.-]*\.(?:sh|bash|bats|ksh|zsh)\b|\bfind\s+\.[^|;&]*\.(?:sh|bash|bats|ksh|zsh)\b",
);
static SHELL_READS: Pattern =
    Pattern::new(r"\b(?:sed|g?awk|[ef]?grep|perl|mapfile|readarray)\b|\bread\s|\$\(\s*<");

/// How a language names its sources in a search: by the ending of their names.
struct SourceNames {
    language: SourceLanguage,
    names: Pattern,
    /// An import of tests.
    imports: Option<Pattern>,
}

/// A glob, a comparison or an expression of the ending.
macro_rules! names {
    ($endings:literal) => {
        Pattern::new(concat!(
            r"\*[\w*/.{},-]*\.\{?(?:",
            $endings,
            r")\b|(?i:ends_?with|suffix|extname|extension|splitext|fnmatch|match|test|strstr|strr?chr|strcmp|[=!]=|=~|\bin\b)[^\n]{0,60}['\x22`/](?:[\w*^-]*\\?\.)?(?:",
            $endings,
            r")\$?['\x22`/]",
            r"|['\x22`/](?:[\w*^-]*\\?\.)?(?:",
            $endings,
            r")\$?['\x22`/][^\n]{0,40}(?:[=!]=|\bin\b|\.test\b|\.match)",
        ))
    };
}

static SOURCE_NAMES: [SourceNames; 8] = [
    SourceNames {
        language: Python,
        names: names!("pyc?"),
        imports: Some(Pattern::new(
            r"^\s*(?:from\s+\.*tests?(?:\.[\w.]+)?\s+import\b|import\s+tests?\.\w)|\b(?:import_module|__import__)\s*\(\s*['\x22]\.*tests?(?:\.|['\x22])",
        )),
    },
    SourceNames {
        language: JavaScript,
        names: names!("[cm]?[jt]sx?"),
        imports: Some(Pattern::new(
            r"\b(?:require|import|from)\s*\(?\s*['\x22`]\.{1,2}/(?:[^'\x22`]*/)?(?:tests?|__tests__|specs?)/|\b(?:require|import|from)\s*\(?\s*['\x22`]\.{1,2}/[^'\x22`]*\.(?:test|spec)(?:\.[cm]?[jt]sx?)?['\x22`]",
        )),
    },
    SourceNames {
        language: Go,
        names: names!("go"),
        imports: None,
    },
    SourceNames {
        language: Ruby,
        names: names!("rb"),
        imports: Some(Pattern::new(
            r"\b(?:require|require_relative|load)\s*\(?\s*['\x22](?:\.{1,2}/)*(?:test|spec)/",
        )),
    },
    SourceNames {
        language: Php,
        names: names!("php"),
        imports: None,
    },
    SourceNames {
        language: Rust,
        names: names!("rs"),
        imports: None,
    },
    SourceNames {
        language: Curly,
        names: names!("java|kt|kts|scala|cs|swift|groovy"),
        imports: None,
    },
    SourceNames {
        language: C,
        names: names!("c|cc|cpp|cxx"),
        imports: None,
    },
];

/// Flags sources that search the project's files. A source that already listed and read files may do so.
pub(super) fn flags(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    if is_entry(file) {
        return Vec::new();
    }
    let lines: Vec<usize> = added
        .iter()
        .copied()
        .filter(|line| !file.is_test_line(*line))
        .collect();
    let code = |line: usize| file.new.code.get(line).map_or("", String::as_str);
    let text = |line: usize| file.new.text.get(line).map_or("", String::as_str);
    let find =
        |is_match: &dyn Fn(usize) -> bool| lines.iter().copied().find(|line| is_match(*line));
    let in_code = |pattern: &Pattern| find(&|line| pattern.is_match(code(line)));
    let in_text = |pattern: &Pattern| find(&|line| pattern.is_match(text(line)));
    let own = SOURCE_NAMES
        .iter()
        .find(|names| names.language == file.language);

    let searched = if file.language == Shell {
        let already = || file.had(&SHELL_SEARCHES) || file.had(&SHELL_LISTS);
        let listed = || in_text(&SHELL_LISTS).filter(|_| in_text(&SHELL_READS).is_some());
        in_text(&SHELL_SEARCHES)
            .or_else(listed)
            .filter(|_| !already())
    } else {
        let lists = || in_code(&LISTS_ALL).or_else(|| in_code(&LISTS_PATTERN));
        let already = || (file.had(&LISTS_ALL) || file.had(&LISTS_PATTERN)) && file.had(&READS);
        let names_sources = || own.is_some_and(|own| in_text(&own.names).is_some());
        let reads_all = || {
            in_text(&EVERYTHING).is_some()
                || (in_code(&LISTS_ALL).is_some() && in_text(&OTHER_FILES).is_none())
        };
        let of_project = || {
            (in_text(&CURRENT_FOLDER).is_some() && (names_sources() || reads_all()))
                || (in_text(&OWN_FOLDER).is_some()
                    && match in_text(&ABOVE) {
                        Some(_) => names_sources() || reads_all(),
                        None => names_sources() && in_text(&LOADS).is_none(),
                    })
        };
        lists().filter(|_| in_code(&READS).is_some() && of_project() && !already())
    };
    let has_backticks = matches!(file.language, Ruby | Php);
    let runs = |line: usize| {
        RUNS.is_match(text(line)) || (has_backticks && text(line).contains(['`', '%']))
    };
    let by_program = || {
        let search = find(&|line| SEARCH_PROGRAM.is_match(text(line)) && runs(line))?;
        (file.language != Shell && !file.had(&SEARCH_PROGRAM)).then_some(search)
    };
    let imported = || {
        let imports = own?.imports.as_ref()?;
        in_text(imports).filter(|_| !file.had(imports))
    };
    let flag = |line, what| {
        let (kind, severity) = (FindingKind::TestDetection, FindingSeverity::Strong);
        Flag::new(Some(line), kind, severity, what)
    };
    let searches = "searches the files of the project, tests among them, and reads what it finds";
    let searched = searched.or_else(by_program);
    let flags = searched.map(|line| flag(line, searches));
    let imports = imported().map(|line| flag(line, "imports tests"));
    flags.into_iter().chain(imports).collect()
}
