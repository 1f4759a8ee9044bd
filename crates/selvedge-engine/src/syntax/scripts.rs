//! Scripts that make interpreters parse many files in one process without running any of them. Each
//! script reads names from standard input, one per line (that of node: lines with the language, the
//! name and the path), and answers in the format of [`answer`](super::answer).

/// Compiled, not run: some errors are found only by compiling. Site packages and environment
/// variables are ignored.
pub(super) const PYTHON: (&[&str], &str) = (
    &["-I", "-S", "-B", "-W", "ignore", "-X", "utf8", "-c"],
    r#"
import sys
NEWER = [
    ((3, 12), r"f-string|^\s*type\s+\w.*=|\b(def|class)\s+\w+\s*\["),
    ((3, 14), r"multiple exception types|\b[rR]?[tT][rR]?[\"']"),
]
def is_newer(error):
    import re
    seen = f"{error.msg}\n{error.text or ''}"
    return any(sys.version_info < since and re.search(new, seen, re.M) for since, new in NEWER)
def say(*fields):
    sys.stdout.write("\t".join(str(it).replace("\t", " ").replace("\n", " ") for it in fields) + "\n")
    sys.stdout.flush()
for name in sys.stdin.read().split("\n"):
    if not name:
        continue
    try:
        with open(name, "rb") as file:
            source = file.read()
        compile(source, name, "exec", 0x2000, True)
        say("ok", name)
    except SyntaxError as error:
        place = (name, error.lineno or 1, max(error.offset or 0, 0), error.msg)
        if is_newer(error):
            say("unsure", *place, "it may be of a newer Python")
        else:
            say("broken", *place)
    except ValueError as error:
        say("broken", name, 1, 0, error)
    except (RecursionError, MemoryError, OverflowError) as error:
        say("unsure", name, 1, 0, type(error).__name__, "its parser failed")
"#,
);

/// Compiled to byte code, which is discarded.
pub(super) const RUBY: (&[&str], &str) = (
    &["--disable=all", "-W0", "-e"],
    r#"
$stdout.sync = true
$stdin.each_line(chomp: true) do |name|
  begin
    RubyVM::InstructionSequence.compile_file(name)
    puts "ok\t#{name}"
  rescue SyntaxError => error
    text = error.message.dup.force_encoding("UTF-8").scrub
    line = text[/:(\d+):/, 1] || "1"
    said = text.lines.first.to_s.sub(/\A.*?:\d+: /, "").strip
    said = text[/\^+~* (.*)$/, 1] || said if said =~ /errors? found/
    puts ["broken", name, line, 0, said.gsub(/[\t\n]/, " ")].join("\t")
  rescue StandardError, SystemStackError => error
    puts ["unsure", name, 1, 0, error.class, "its parser failed"].join("\t")
  end
end
"#,
);

/// Tokenized: errors found only by compiling depend on extensions and versions.
pub(super) const PHP: (&[&str], &str) = (
    &[
        "-n",
        "-d",
        "display_errors=0",
        "-d",
        "display_startup_errors=0",
        "-d",
        "extension=tokenizer",
        "-r",
    ],
    r#"
foreach (explode("\n", stream_get_contents(STDIN)) as $name) {
    if ($name === "" || !function_exists("token_get_all")) continue;
    try {
        token_get_all(file_get_contents($name), TOKEN_PARSE);
        echo "ok\t$name\n";
    } catch (ParseError $error) {
        $said = strtr($error->getMessage(), "\t\n", "  ");
        $line = file($name)[$error->getLine() - 1] ?? "";
        $newer = '/\|>|\(set\)|const\s+\??\w+\s+\w+\s*=|\b[gs]et\s*(=>|[{(])|\bclone\(/';
        $unsure = PHP_VERSION_ID < 80500 && preg_match($newer, $line);
        echo $unsure ? "unsure" : "broken", "\t$name\t{$error->getLine()}\t0\t$said",
            $unsure ? "\tit may be of a newer PHP" : "", "\n";
    }
}
"#,
);

/// `bash -n` reads one script; patterns that need an option are tried with that option enabled.
pub(super) const BASH: (&[&str], &str) = (
    &["--noprofile", "--norc", "-c"],
    r#"
while IFS= read -r name; do
    if said=$("$BASH" --noprofile --norc -n -- "$name" 2>&1) ||
        "$BASH" --noprofile --norc -O extglob -n -- "$name" 2>/dev/null; then
        printf 'ok\t%s\n' "$name"
    elif [[ $said == *$'\r'* || $(<"$name") == *$'\r'$'\n'* ]]; then
        printf 'unsure\t%s\t1\t0\tlines end with CR LF\tits line ends may come from a checkout on another system\n' "$name"
    else
        said=${said%%$'\n'*}
        said=${said#*: line }
        printf 'broken\t%s\t%s\t0\t%s\n' "$name" "${said%%:*}" "${said#*: }"
    fi
done
"#,
);

/// Compiled as a script, a function body and a module; what node rejects may be JSX, which is parsed
/// as TypeScript is: by the one that the project has installed. Its argument is the workspace.
pub(super) const NODE: (&[&str], &str) = (
    &["--experimental-vm-modules", "--no-warnings", "-e"],
    include_str!("node.js"),
);
