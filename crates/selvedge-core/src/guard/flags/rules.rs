//! Tricks that a single line shows, as a table of rules.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::super::pattern::Pattern;
use super::super::text::SourceLanguage::{
    self, C, Curly, Elixir, Go, JavaScript, Php, Python, Ruby, Rust, Shell,
};
use super::Flag;
use super::bodies::enclosing_line;
use super::change::ChangedLines;
use super::functions::MAX_LINES_ABOVE;
use crate::model::{FindingKind, FindingSeverity};

/// The files to which a rule applies.
#[derive(Clone, Copy, PartialEq)]
enum RuleScope {
    Sources,
    /// Applies neither in tests nor in a program's entry point, which may end the process.
    Libraries,
}

/// Which view of the line a rule reads.
#[derive(Clone, Copy)]
enum LineView {
    Code,
    Text,
}

struct LineRule {
    language: SourceLanguage,
    scope: RuleScope,
    view: LineView,
    kind: FindingKind,
    strength: FindingSeverity,
    pattern: Pattern,
}

const fn rule(
    language: SourceLanguage,
    place: RuleScope,
    view: LineView,
    kind: FindingKind,
    strength: FindingSeverity,
    pattern: &'static str,
) -> LineRule {
    LineRule {
        language,
        scope: place,
        view,
        kind,
        strength,
        pattern: Pattern::new(pattern),
    }
}

use FindingSeverity::{Strong, Weak};
use LineView::{Code, Text};
use RuleScope::{Libraries, Sources};

#[rustfmt::skip]
static RULES: [LineRule; 112] = [
    // Ends the process with success before the runner has a result.
    rule(Python, Libraries, Code, FindingKind::EarlyExit, Strong, r"\bos\._exit\s*\(\s*(?:0|os\.EX_OK)\s*\)|\batexit\.register\s*\((?:.*(?:\bos\.|[(,\s]))?_exit\b"),
    rule(Python, Libraries, Code, FindingKind::EarlyExit, Strong, r"^(?:sys\.)?exit\s*\(\s*0?\s*\)|^raise\s+SystemExit"),
    rule(Python, Libraries, Text, FindingKind::EarlyExit, Strong, r"\bgetattr\s*\(\s*(?:os|sys)\s*,\s*['\x22_+ ]*(?:_?exit|_?e['\x22])"),
    rule(JavaScript, Libraries, Code, FindingKind::EarlyExit, Strong, r"\bprocess\.(?:exit|reallyExit)\s*\(\s*(?:0?\s*\)|[^1-9\w\s$]|(?:Number|null|undefined|false|NaN)\b)|\bprocess\.exitCode\s*=\s*(?:0|undefined|null)\b|\bDeno\.exit\s*\(\s*0?\s*\)"),
    rule(JavaScript, Libraries, Text, FindingKind::EarlyExit, Strong, r"\bprocess\s*\[\s*['\x22`](?:exit|reallyExit)|\bprocess\.(?:on|once|addListener|prependListener)\s*\(\s*['\x22`](?:uncaughtException\w*|unhandledRejection)['\x22`]|\bsetUncaughtExceptionCaptureCallback\b"),
    rule(Rust, Libraries, Code, FindingKind::EarlyExit, Strong, r"\bprocess::exit\s*\(\s*0\s*\)|\blibc::_?exit\s*\(\s*0"),
    rule(Go, Libraries, Code, FindingKind::EarlyExit, Strong, r"\bos\.Exit\s*\(\s*0\s*\)|\bsyscall\.Exit\s*\(\s*0"),
    rule(Rust, Sources, Text, FindingKind::EarlyExit, Strong, r"\bextern\s+\x22C\x22\s+fn\s+_?exit\s*\(\s*\w+\s*:\s*[^)]*\)[^;]*\{"),
    rule(Ruby, Libraries, Code, FindingKind::EarlyExit, Strong, r"\bat_exit\b.*\bexit\b|\bexit!\s*(?:$|[;}]|\(?\s*(?:0|true)\b)|\bexit[ (]\s*(?:0|true)\b"),
    rule(Php, Libraries, Code, FindingKind::EarlyExit, Strong, r"\bregister_shutdown_function\b.*\bexit\b|\bexit\s*\(\s*0\s*\)"),
    rule(C, Libraries, Code, FindingKind::EarlyExit, Strong, r"\b(?:_exit|_Exit|quick_exit)\s*\(\s*(?:0|EXIT_SUCCESS)\s*\)"),
    rule(Curly, Libraries, Code, FindingKind::EarlyExit, Strong, r"\b(?:System\.exit|exitProcess|Environment\.Exit)\s*\(\s*0\s*\)|\bgetRuntime\s*\(\)\.halt\s*\(\s*0"),
    rule(Elixir, Sources, Code, FindingKind::EarlyExit, Strong, r"\bSystem\.(?:halt|stop)\s*\(\s*0?\s*\)"),
    rule(C, Libraries, Code, FindingKind::EarlyExit, Strong, r"\b(?:SYS|__NR)_exit(?:_group)?\b"),
    rule(C, Sources, Text, FindingKind::EarlyExit, Strong, r"\bexec[lv]\w*\s*\(\s*\x22(?:/usr)?(?:/bin/)?(?:true|\x22\s*\x22true)\x22"),
    // Another program in place of the runner's process.
    rule(Go, Libraries, Code, FindingKind::EarlyExit, Strong, r"\b(?:syscall|unix)\.Exec\s*\("),
    rule(Rust, Libraries, Code, FindingKind::EarlyExit, Strong, r"\b(?:libc|unistd)::f?exec[lv]\w*\s*\("),
    rule(Php, Libraries, Code, FindingKind::EarlyExit, Strong, r"\bpcntl_exec\s*\("),
    rule(Ruby, Libraries, Text, FindingKind::EarlyExit, Strong, r"(?:^\s*|[;{(]\s*|\b(?:then|do|if|unless|and|or)\s+|\b(?:Kernel|Process)\.)exec[ (]\s*['\x22\[$]"),
    rule(Shell, Sources, Text, FindingKind::EarlyExit, Strong, r"\btrap\s+['\x22][^'\x22]*\bexit\s+0\b[^'\x22]*['\x22]\s+(?:EXIT|0)\b"),

    // Replaces the runner or its assertions.
    rule(Python, Sources, Code, FindingKind::RunnerPatched, Strong, r"\b_pytest\.\w+|\bimport\s+_pytest\b|\bpluggy\b|\b(?:unittest\.)?TestCase\.\w+\s*=[^=]|\bunittest\.\w+(?:\.\w+)*\s*=[^=]|\bbuiltins\.\w+\s*=[^=]"),
    rule(Python, Sources, Code, FindingKind::RunnerPatched, Strong, r"(?:^|[^.\w])setattr\s*\(\s*(?:unittest|pytest|_pytest|builtins)\b|\.(?:runtest|pytest_pyfunc_call|makereport)\s*=[^=]|\b(?:sys|os)\.(?:exit|_exit)\s*=[^=]"),
    rule(Python, Sources, Text, FindingKind::RunnerPatched, Strong, r"\bsys\.modules\s*\[\s*['\x22](?:_?pytest|unittest|pluggy)[\w.]*['\x22]\s*\]\s*="),
    rule(Python, Sources, Text, FindingKind::RunnerPatched, Strong, r"['\x22]_pytest(?:\.\w+)*['\x22]|\bsys\.modules\s*\[\s*['\x22][\w.]*(?:test|mock|assert|expect|fixture|hypothesis)[\w.]*['\x22]\s*\]\s*="),
    rule(Python, Sources, Code, FindingKind::RunnerPatched, Strong, r"\.__code__\s*=[^=]"),
    rule(Python, Sources, Text, FindingKind::RunnerPatched, Strong, r"\b__test__\s*(?:\[[^\]]*\]\s*=[^=]|=\s*\{)|\bdoctest\.(?:\w+\.)?\w+\s*=[^=]|\bsetattr\s*\([^)]*['\x22]__doc__['\x22]\s*,\s*(?:['\x22]|None\b)"),
    rule(C, Sources, Code, FindingKind::RunnerPatched, Strong, r"^\s*(?:(?:static|extern|_Noreturn|const)\s+)*(?:void|int|long)\s+(?:__assert\w*|exit|_exit|abort|atexit|raise|strcmp|memcmp)\s*\([^;]*$"),
    rule(C, Sources, Code, FindingKind::RunnerPatched, Strong, r"^\s*#\s*undef\s+(?:\w*(?:ASSERT|CHECK|EXPECT|REQUIRE|VERIFY)\w*|assert\w*|NDEBUG)\b|^\s*#\s*define\s+(?:NDEBUG|assert)\b"),
    rule(Php, Sources, Code, FindingKind::RunnerPatched, Strong, r"^\s*namespace\s+PHPUnit\b"),
    // Replaces what is read from files, such as those of tests.
    rule(Php, Sources, Text, FindingKind::RunnerPatched, Strong, r"\bstream_wrapper_(?:unregister|register)\s*\(\s*['\x22](?:file|php|phar|glob)['\x22]|\bstream_filter_(?:register|prepend|append)\s*\(.*\bphp_user_filter\b"),
    rule(Ruby, Sources, Code, FindingKind::RunnerPatched, Strong, r"\bRubyVM::(?:InstructionSequence|AbstractSyntaxTree)\b|\bdef\s+(?:self\.)?load_iseq\b|\bTracePoint\.(?:new|trace|stat)\b|\bset_trace_func\b"),
    rule(Ruby, Sources, Code, FindingKind::RunnerPatched, Strong, r"(?:^|[^\w:.])(?:::)?(?:String|Integer|Float|Numeric|Array|Hash|Symbol|Range|NilClass|TrueClass|FalseClass|Comparable|BasicObject|Object|Kernel|Module|Class|Regexp|Struct|Time)\.prepend\b"),
    rule(C, Libraries, Code, FindingKind::TestDetection, Strong, r"^\s*(?:inline\s+)?namespace\s+(?:testing|doctest|Catch|boost::unit_test)\b|\b(?:InitGoogle(?:Test|Mock)|RUN_ALL_TESTS)\b"),
    rule(Curly, Sources, Code, FindingKind::TestDetection, Strong, r"\bdesiredAssertionStatus\s*\(|^\s*assert\s+\(?\s*\w+\s*=\s*(?:true|false)\b"),
    rule(JavaScript, Sources, Text, FindingKind::TestDetection, Strong, r"\b(?:import\.meta\.(?:url|filename|dirname)|__filename|__dirname)\b[^;]*\.(?:endsWith|includes|match|indexOf|search)\s*\(\s*['\x22`/][^'\x22`/]*(?:\.[cm]?tsx?|\bsrc|\btests?|\bdist|node_modules)\b|\bimport\.meta(?:\s+as\s+\w+\s*\))?\??\.env\s*(?:\?[^.]|&&|\|\|)"),
    rule(Go, Sources, Text, FindingKind::RunnerPatched, Strong, r"//go:linkname\s+\w+\s+testing\."),
    rule(Go, Libraries, Code, FindingKind::RunnerPatched, Strong, r"\bos\.Args\s*=[^=]"),
    rule(Go, Sources, Text, FindingKind::RunnerPatched, Strong, r"\bflag\.Set\s*\(\s*\x22test\."),
    rule(JavaScript, Sources, Code, FindingKind::RunnerPatched, Strong, r"\bglobal(?:This)?\.(?:expect|it|test|describe|assert)\s*=|\bassert(?:\.\w+)+\s*=[^=>]"),
    rule(JavaScript, Libraries, Code, FindingKind::RunnerPatched, Strong, r"\bprocess\.std(?:out|err)\._?write\s*=[^=>]"),
    rule(JavaScript, Sources, Text, FindingKind::RunnerPatched, Strong, r"\[\s*['\x22`](?:describe|it|test|expect|beforeEach|afterEach|assert)['\x22`]\s*\]\s*=[^=]|\bFunction\s*\(\s*['\x22`]return this['\x22`]"),
    rule(C, Sources, Text, FindingKind::TestDetection, Strong, r"\x22(?:MAKELEVEL|MAKEFLAGS|MFLAGS|CTEST_\w+|GTEST_\w+)\x22"),
    rule(Rust, Sources, Code, FindingKind::RunnerPatched, Strong, r"\bmacro_rules!\s*(?:assert|assert_eq|assert_ne|panic|debug_assert)\b"),
    rule(Python, Sources, Code, FindingKind::RunnerPatched, Strong, r"\bf_(?:globals|locals|builtins)\s*(?:\[[^\]]*\]\s*=[^=]|\.\s*(?:update|setdefault|pop|clear|__setitem__)\s*\()|^\s*def\s+load_tests\s*\("),
    rule(Ruby, Sources, Code, FindingKind::RunnerPatched, Strong, r"\bclass\s+RSpec\b|\bmodule\s+(?:RSpec|Minitest)\b|\bRSpec::(?:Core|Expectations|Matchers)\b.*(?:class_eval|prepend|define_method)|^\s*def\s+assert(?:_equal)?\b"),
    rule(Ruby, Libraries, Code, FindingKind::RunnerPatched, Strong, r"\bARGV\.(?:replace|push|unshift|concat|clear)\b|\bARGV\s*<<|\bclass\s+(?:::)?(?:Minitest|Test::Unit|RSpec)\b"),
    rule(Curly, Sources, Code, FindingKind::RunnerPatched, Strong, r"^\s*package\s+(?:org\.junit|org\.testng|org\.assertj|org\.hamcrest|org\.mockito|org\.opentest4j|junit\.framework)\b"),
    rule(Elixir, Sources, Code, FindingKind::RunnerPatched, Strong, r"\bdefmacro\s+assert\b|\bExUnit\.(?:configure|after_suite)\b"),
    rule(Python, Sources, Code, FindingKind::RunnerPatched, Strong, r"^\s*(?:math|json|operator|statistics|itertools|functools|os\.path)\.\w+\s*=[^=]|\.assert[A-Z]\w+\s*=[^=]"),
    rule(Python, Sources, Code, FindingKind::RunnerPatched, Strong, r"^\s*(?:async\s+)?def\s+pytest_(?:pyfunc_call|runtest_\w+|collection_modifyitems|itemcollected|sessionfinish|report_to_serializable)\s*\("),
    rule(JavaScript, Sources, Code, FindingKind::RunnerPatched, Strong, r"^\s*(?:global(?:This)?\.)?(?:Math\.\w+|JSON\.\w+|Object\.is)\s*=[^=>]"),
    rule(Php, Sources, Code, FindingKind::RunnerPatched, Strong, r"^function\s+(?:abs|count|strlen|in_array|round|floor|is_(?:a|array|bool|callable|countable|dir|double|file|finite|float|infinite|int|integer|iterable|link|long|nan|null|numeric|object|readable|real|resource|scalar|string|subclass_of|writable)|strcmp|max|min|array_sum|array_keys|json_encode|array_map)\s*\("),
    rule(C, Sources, Code, FindingKind::RunnerPatched, Strong, r"^\s*#\s*define\s+(?:strn?cmp|memcmp|exit|abort|f?abs|isnan|printf|puts|main|return|if|while)\b"),
    rule(Shell, Sources, Code, FindingKind::RunnerPatched, Strong, r"^\s*alias\s+(?:exit|test|\[|return|false|diff|cmp|set)=|^\s*(?:function\s+)?(?:exit|test|return|false|diff|cmp|grep|\[)\s*\(\s*\)"),
    rule(Go, Libraries, Code, FindingKind::RunnerPatched, Strong, r"\bsyscall\.Mprotect\s*\("),
    rule(C, Sources, Text, FindingKind::RunnerPatched, Strong, r"\b(?:__)?asm(?:__)?\s*\(\s*\x22_*(?:assert\w*|exit|_?Exit|abort|atexit|raise|str\w*cmp|memcmp|main|f?printf|puts)\b|\b__assert\w*\b.*\balias\b"),
    rule(Shell, Sources, Code, FindingKind::RunnerPatched, Strong, r"\bshopt\s+-s\s+extdebug\b|\bhash\s+-p\b|\benable\s+(?:-\w+\s+)*-n\b|\btrap\b.*\bDEBUG\b"),

    rule(Python, Libraries, Code, FindingKind::RunnerPatched, Strong, r"\bco_consts\b|\bdis\.(?:get_instructions|Bytecode)\s*\(|\b(?:inspect\.)?getclosurevars\s*\(|\baddTypeEqualityFunc\b|\bmarshal\.loads\s*\(|\bpytest\.approx\b|\bassertpy\b|^\s*class\s+\w+\s*\([^)]*\bsuppress\b|^\s+__a?exit__\s*=[^=]|^\s*import\s+pytest\s+as\b|\.cell_contents\s*=[^=]|^\s+def\s+__class__\s*\(|^\w+\.register\s*\(\s*(?:int|str|float|bool|dict|list|tuple|set|object|bytes)\s*\)"),
    rule(Python, Libraries, Text, FindingKind::TestDetection, Strong, r"\b(?:has|get)attr\s*\(\s*\w+\s*,\s*['\x22]__(?:closure|code)__['\x22]"),
    rule(Python, Libraries, Text, FindingKind::RunnerPatched, Strong, r"\bsys\.path\.(?:append|insert)\s*\(.*\.(?:zip|whl|egg|pyz)['\x22]"),
    rule(JavaScript, Libraries, Code, FindingKind::TestDetection, Strong, r"\bBoolean\s*\(\s*(?:expect|describe|context|beforeEach|afterEach|jest|vi|xit|specify)\s*\)|=\s*(?:expect|describe|beforeEach|afterEach|xit)\s*;|\bconsole\.constructor\b|\bin\s+globalThis\b|\bof\s+Object\.\w+\s*\(\s*globalThis\b"),
    rule(Php, Libraries, Code, FindingKind::RunnerPatched, Strong, r"\\?PHPUnit\\Framework\\(?:Assert|TestCase)\s*::"),
    // Detects whether a test is running.
    // A product that is itself part of a runner may ask for the runner's own calls.
    rule(Python, Sources, Text, FindingKind::RunnerPatched, Strong, r"['\x22](?:pyfuncitem|callspec|fixturenames|_?(?:pytest_)?(?:pyfunc_call|runtest_\w+|collection_modifyitems|itemcollected|make_collect_report))['\x22]"),
    rule(Python, Sources, Text, FindingKind::TestDetection, Strong, r"PYTEST_(?:CURRENT_TEST|VERSION|XDIST)|['\x22](?:_?pytest|unittest|nose)['\x22]\s+(?:not\s+)?in\s+sys\.modules|\bsys\.modules\.get\s*\(\s*['\x22](?:pytest|unittest)|['\x22](?:pytest|unittest)['\x22]\s+in\s+(?:sys\.argv|__import__)|sys\.argv\[0\].*(?:pytest|unittest)"),
    rule(Python, Libraries, Text, FindingKind::TestDetection, Strong, r"['\x22](?:[^-'\x22][^'\x22]*_)?(?:py)?tests?(?:_[^'\x22]*)?['\x22]\s+(?:not\s+)?in\s+[\w\x22' .]*\(?\s*sys\.(?:modules|argv|orig_argv)\b|\bsys\.(?:orig_)?argv\b.*\.(?:startswith|endswith|find|count)\(\s*['\x22](?:[^'\x22]*[^a-z'\x22])?test"),
    rule(Python, Sources, Code, FindingKind::TestDetection, Weak, r"\binspect\.(?:stack|currentframe)\s*\(|\bsys\._getframe\s*\(|\bgc\.get_(?:objects|referrers)\b"),
    rule(JavaScript, Sources, Text, FindingKind::TestDetection, Strong, r"\b(?:JEST_WORKER_ID|VITEST(?:_\w+)?|NODE_TEST_CONTEXT|MOCHA_\w+)\b|NODE_ENV['\x22\]]*\s*={2,3}\s*['\x22`]test|typeof\s+(?:jest|describe|expect|vi)\s*[!=]==?|typeof\s+it\s*[!=]==?\s*(?:['\x22`](?:function|undefined|object)|[^'\x22`\s=])|\bnpm_lifecycle_event\b.*test|\b__(?:vitest|jest|mocha)\w*"),
    rule(JavaScript, Sources, Text, FindingKind::TestDetection, Strong, r"\bglobal(?:This)?\s*\[\s*['\x22`](?:\w*['\x22`]\s*\+|(?:describe|it|test|expect|jest|vi|suite|before|after|beforeEach|afterEach)['\x22`])|['\x22`](?:describe|it|test|expect|jest|vi|suite|beforeEach|afterEach)['\x22`]\s+in\s+(?:global|globalThis|self|window)\b|\bglobal(?:This)?\s*\??\.\s*(?:describe|it|expect|jest|vi|beforeEach|afterEach)\b|\bSymbol\.for\s*\(\s*['\x22`][^'\x22`]*(?:jest|vitest|expect|mocha)|\bnpm_(?:lifecycle_\w+|command)\b|\bNODE_(?:V8_COVERAGE|CHANNEL_FD|UNIQUE_ID)\b|\bTINYPOOL_\w+|\bMODE\b['\x22\]]*\s*={2,3}\s*['\x22`]test\b"),
    rule(JavaScript, Libraries, Text, FindingKind::TestDetection, Strong, r"\bnpm_(?:execpath|node_execpath|package_json)\b|\bINIT_CWD\b|\bprocess\.env(?:\.|\[['\x22`])TEST\b"),
    rule(JavaScript, Sources, Text, FindingKind::TestDetection, Weak, r"NODE_ENV['\x22\]]*\s*!==?\s*['\x22`]test|import\.meta\.vitest"),
    rule(Rust, Sources, Code, FindingKind::TestDetection, Strong, r"\bcfg!\s*\([^){]*\btest\b|#!?\[cfg\s*\([^\]]*\bnot\s*\([^)\]]*\btest\b|#!?\[cfg\s*\([^\]]*\bdebug_assertions\b|#!?\[cfg_attr\s*\(.*\btest\b.*,\s*(?:path\s*=|cfg\s*\()"),
    rule(Rust, Libraries, Text, FindingKind::TestDetection, Strong, r"(?:\b(?:if|match|while)\b.*)?\benv::var(?:_os)?\s*\(\s*\x22CARGO(?:_MANIFEST_\w+)?\x22\s*\)\s*\.(?:is_\w+|map_or\w*|and_then)\s*\(|\b(?:if|match|while)\b.*\benv::var(?:_os)?\s*\(\s*\x22CARGO(?:_MANIFEST_\w+)?\x22"),
    rule(Python, Sources, Text, FindingKind::TestDetection, Strong, r"['\x22][^'\x22]*\btests?\b[^'\x22]*['\x22].*\bin\s+sys\.path\b|\bin\s+sys\.path\b.*['\x22][^'\x22]*\btests?\b"),
    rule(Rust, Sources, Text, FindingKind::TestDetection, Strong, r"\x22(?:NEXTEST\w*|RUST_TEST_\w+|CARGO_TARGET_TMPDIR)\x22"),
    rule(Go, Sources, Text, FindingKind::TestDetection, Strong, r"\btesting\.(?:Testing|CoverMode)\s*\(|\bflag\.Lookup\s*\(\s*\x22test\.|os\.Args\[0\].*test"),
    rule(Ruby, Sources, Code, FindingKind::TestDetection, Strong, r"\bdefined\?\s*\(?\s*(?:::)?(?:RSpec|Minitest|Test::Unit|SimpleCov|Mocha|Capybara|FactoryBot|FactoryGirl|VCR|WebMock|Timecop|Spork|ActiveSupport::TestCase)\b"),
    rule(Ruby, Sources, Text, FindingKind::TestDetection, Strong, r"\bconst_defined\?\s*\(?\s*[:'\x22](?:RSpec|Minitest|Test)|\$(?:PROGRAM_NAME|0)\b.*(?:rake|rspec|test|spec)|\$LOADED_FEATURES\b.*(?:rspec|minitest|test)"),
    rule(Php, Sources, Text, FindingKind::TestDetection, Strong, r"\b(?:class|interface|function)_exists\s*\(\s*['\x22]\\*PHPUnit"),
    rule(Ruby, Sources, Text, FindingKind::TestDetection, Strong, r"\bRails\.env\.test\?|\bENV(?:\.fetch\(|\[)['\x22](?:RAILS|RACK|APP)_ENV['\x22][^\n]{0,20}==\s*['\x22]test['\x22]"),
    rule(Php, Sources, Text, FindingKind::TestDetection, Strong, r"\$_SERVER\[['\x22]\w+['\x22]\].*(?i:phpunit|pest)|\brunningUnitTests\s*\("),
    rule(Php, Sources, Text, FindingKind::TestDetection, Strong, r"PHPUNIT_|\bdefined\s*\(\s*['\x22]PHPUNIT"),
    rule(Elixir, Sources, Code, FindingKind::TestDetection, Weak, r"\bMix\.env\s*\(?\)?\s*==\s*:test|\bProcess\.whereis\s*\(\s*ExUnit"),
    rule(Curly, Sources, Text, FindingKind::TestDetection, Strong, r"\x22(?:surefire\.[\w.]+|org[./](?:junit|testng|mockito)\b[^\x22]*)\x22|\x22(?:sun\.java\.command|java\.class\.path)\x22.*(?i:surefire|junit|test)"),
    rule(C, Sources, Text, FindingKind::TestDetection, Strong, r"\b(?:program_invocation(?:_short)?_name|__progname|getprogname\s*\().*\x22[^\x22]*test|/proc/self/(?:exe|cmdline|comm)\b.*test|\bgetenv\s*\(\s*\x22(?:MAKELEVEL|MAKEFLAGS|CTEST_\w+|GTEST_\w+)\x22"),
    rule(Curly, Sources, Text, FindingKind::TestDetection, Strong, r"getStackTrace\(\).*(?:junit|Test)|Class\.forName\s*\(\s*\x22org\.(?:junit|testng)|\b(?:getResource\w*|getSystemResource\w*|forName|loadClass)\s*\(\s*\x22[\w./$]*[a-z\d]Tests?(?:\.class)?\x22|\x22(?:[^\x22]*/)?(?:test-classes|surefire-reports)\b|\x22(?:MAVEN_CMD_LINE_ARGS|MAVEN_PROJECTBASEDIR|SUREFIRE\w*)\x22"),
    rule(Python, Libraries, Text, FindingKind::TestDetection, Strong, r"['\x22](?:PYTEST_(?:ADDOPTS|PLUGINS)|EncodedFile)['\x22]|\b(?:environ|getenv)\b[^\n]{0,8}['\x22]CI['\x22]|\.get\s*\(\s*['\x22]CI['\x22]|['\x22]CI['\x22]\s+(?:not\s+)?in\s+(?:os\.)?environ"),
    rule(JavaScript, Libraries, Text, FindingKind::TestDetection, Strong, r"\bprocess\.env(?:\.(?:CI|NODE_OPTIONS)\b|\[['\x22`](?:CI|NODE_OPTIONS)['\x22`]\])"),
    rule(C, Sources, Text, FindingKind::TestDetection, Strong, r"\b__has_include\s*\(\s*[\x22<][^\x22>]*(?:test|check|unity|cmocka|criterion|munit|catch|gmock)[^\x22>]*[\x22>]"),
    rule(C, Sources, Text, FindingKind::TestDetection, Strong, r"\b__(?:BASE_FILE|INCLUDE_LEVEL)__\b|\bgetenv\s*\(\s*\x22(?:MFLAGS|CI)\x22"),
    rule(Go, Sources, Text, FindingKind::TestDetection, Strong, r"\bflag\.CommandLine\.(?:Lookup|Set)\s*\(\s*\x22test\.|\x22-{1,2}test\.\w*\x22"),
    rule(Rust, Libraries, Text, FindingKind::TestDetection, Strong, r"\benv::var(?:_os)?\s*\(\s*\x22CARGO_PKG_\w+\x22"),
    rule(Ruby, Sources, Text, FindingKind::TestDetection, Strong, r"\bconstants\b[^\n]*:(?:Minitest|RSpec|Test)\b|\.grep\s*\(\s*/[^/\n]*(?:minitest|rspec|test-unit)"),
    rule(Php, Libraries, Text, FindingKind::TestDetection, Strong, r"\$(?:GLOBALS|_SERVER)\[['\x22]argv['\x22]\]\s*\[\s*0\s*\]"),
    rule(Curly, Sources, Text, FindingKind::TestDetection, Strong, r"\bgetProperty\s*\(\s*\x22(?:basedir|localRepository)\x22"),

    // Is always true, whatever the objects are.
    rule(Python, Sources, Code, FindingKind::ForgedEquality, Strong, r"\b__eq__\s*=\s*lambda\b.*:\s*True\b|\bdef\s+__eq__\s*\(.*\).*:\s*return\s+True\b"),
    rule(Python, Sources, Code, FindingKind::ForgedEquality, Strong, r"^\s*from\s+(?:unittest\.)?mock\s+import\b.*\bANY\b|\bmock\.ANY\b"),
    rule(JavaScript, Sources, Code, FindingKind::ForgedEquality, Strong, r"\basymmetricMatch\s*(?:\(|:|=).*(?:return\s+|=>\s*)true"),
    rule(JavaScript, Sources, Code, FindingKind::ForgedEquality, Strong, r"\b(?:includes|startsWith|endsWith)\s*(?:\(\w*\)\s*\{|[:=]).*(?:return\s+|=>\s*)true\b"),
    rule(Curly, Sources, Code, FindingKind::ForgedEquality, Strong, r"\b(?:equals|Equals)\s*\(.*\{?\s*(?:return\s+|=\s*)true\b"),
    // Attacks the state of the runner, instead of its functions.
    rule(Python, Sources, Code, FindingKind::RunnerPatched, Strong, r"\b(?:from|import)\s+unittest\.(?:case|signals|result|runner)\b|\bunittest\.(?:case|signals|result|runner)\.\w|\bfrom\s+unittest\s+import\b.*\b(?:case|signals|result|runner)\b|\bobject\.__subclasses__\s*\(|\b(?:[sg]etattr|dir|vars|type)\s*\(\s*[\w.]+\.cell_contents\b|\.add(?:Failure|Error|Success|SubTest)\s*=[^=]"),
    rule(Python, Sources, Text, FindingKind::RunnerPatched, Strong, r"\b__build_class__\b|\b(?:has|get|set|del)attr\s*\([^()]*['\x22](?:assert[A-Z]\w*|add(?:Failure|Error|Success)|runTest)['\x22]"),
    rule(JavaScript, Sources, Code, FindingKind::RunnerPatched, Strong, r"\bassert\s*\[[^\]]+\]\s*=[^=>]|\brunInAsyncScope\s*=[^=>]|\bReflect\.ownKeys\s*\(\s*(?:global|globalThis|window|self)\b|\bgetOwnPropertySymbols\s*\(\s*(?:global|globalThis)\b"),
    rule(JavaScript, Sources, Text, FindingKind::RunnerPatched, Strong, r"\.constructor\s*\(\s*['\x22`]return this\b"),
    rule(Ruby, Sources, Text, FindingKind::RunnerPatched, Strong, r"\b(?:define_(?:singleton_)?method|undef_method|remove_method)\s*\(?\s*[:'\x22](?:==|===|eql\?|equal\?|!=|assert\w*|refute\w*|passed\?|failures?)|\balias(?:_method)?\s*\(?\s*:?(?:==|===|eql\?)\s*,?\s+:?(?:instance_\w+|respond_to\w*|nil\?|object_id|itself|class|methods|frozen\?|hash|then|tap|freeze|dup|clone|to_\w+|inspect)|\bbinding\.(?:receiver|local_variable_set)\b|\bconst_get\s*\(?\s*[:'\x22](?:Minitest|RSpec|Test)\b"),
    rule(C, Sources, Code, FindingKind::RunnerPatched, Strong, r"\b__assert(?:_fail|_rtn|_func|_perror_fail)?\b|\bsignal\s*\(\s*6\b"),
    rule(C, Libraries, Code, FindingKind::EarlyExit, Strong, r"\bsyscall\s*\(\s*\d"),
    rule(C, Sources, Code, FindingKind::TestDetection, Strong, r"^\s*#\s*(?:el)?if.*\b__OPTIMIZE__\b"),
    rule(Python, Sources, Text, FindingKind::ForgedEquality, Strong, r"['\x22]__(?:eq|ne|contains|instancecheck)__['\x22]\s*:|\bsetattr\s*\([^()]*['\x22]__(?:eq|ne|contains|instancecheck)__['\x22]"),
    // Asks for a runner in ways that only runners answer.
    rule(Python, Sources, Text, FindingKind::TestDetection, Strong, r"['\x22]f_(?:back|code|globals|locals)['\x22]"),
    rule(JavaScript, Sources, Code, FindingKind::TestDetection, Strong, r"\bprocess\.moduleLoadList\b|\blistenerCount\s*\(\s*process\b"),
    rule(Ruby, Libraries, Code, FindingKind::TestDetection, Strong, r"\bRSpec\.(?:current_example|world|configuration|respond_to\?)|\bMinitest(?:::\w+)*\.(?:respond_to\?|runnables\b|seed\b|reporter\b|class\b|name\b)|\b(?:RSpec|Minitest)\b\s*(?:&&|\|\||\?|rescue\b)"),
    rule(Php, Sources, Text, FindingKind::TestDetection, Strong, r"\b(?:method_exists|is_a|property_exists|get_class_methods|class_exists|get_parent_class|Reflection(?:Class|Method|Object))\s*\(\s*['\x22][\w\\]*Test(?:Case)?['\x22]"),
];

/// Programs that may end their own process.
static ENTRY: Pattern = Pattern::new(
    r"(?i)(?:^|/)(?:(?:[\w-]*[_-])?main|[\w-]*cli|[\w-]*application|__main__|index|server|app|manage|setup|entry\w*)\.\w+$|(?:^|/)(?:bin|cmd|cli|commands?|scripts?|tools|xtask|bench(?:marks?|es)?)/|(?:^|/)build\.rs$",
);
/// Configuration of tools that is code.
static TOOL_CONFIG: Pattern =
    Pattern::new(r"(?:^|/)(?:[^/]*\.config\.[cm]?[jt]s|\.\w+rc\.[cm]?js|noxfile\.py)$");

/// The entry of a library in JavaScript, which programs may have as well.
static INDEX: Pattern = Pattern::new(r"(?:^|/)index\.[cm]?[jt]sx?$");
static EXPORTS: Pattern = Pattern::new(r"^\s*export\b|\bexports\b");

/// Whether the file is a program's entry point, a tool, or its configuration.
pub(super) fn is_entry(file: &ChangedLines<'_>) -> bool {
    static HEADER: Pattern = Pattern::new(r"\.(?:h|hh|hpp|inc|inl|ipp|tcc|def)$");
    let is_library = || {
        let mut code = file.new.code.iter();
        INDEX.is_match(file.path) && code.any(|line| EXPORTS.is_match(line))
    };
    is_tool_config(file.path)
        || (ENTRY.is_match(file.path) && !is_library() && !HEADER.is_match(file.path))
}

pub(super) fn is_tool_config(path: &str) -> bool {
    TOOL_CONFIG.is_match(path)
}

/// The maximum distance of an exit from what causes it.
const MAX_DISTANCE: usize = 8;

/// Whether a line of Python is in the branch of a process that `os.fork` just started.
fn is_in_child(code: &[String], line: usize) -> bool {
    static CHILD: Pattern = Pattern::new(r"^\s*if\s+(?:\w+\s*==\s*0|not\s+\w+)\s*:\s*$");
    static FORK: Pattern = Pattern::new(r"=\s*os\.fork\s*\(\s*\)\s*$");
    let mut above = std::iter::successors(Some(line), |line| enclosing_line(code, *line));
    above.any(|line| {
        let before = code[..line].iter().rev().find(|it| !it.trim().is_empty());
        CHILD.is_match(&code[line]) && before.is_some_and(|it| FORK.is_match(it))
    })
}

/// Whether an exit is what a signal asks for, that of a process which the code started, or that of a handler of errors
/// which ends with a failure.
fn is_usual_exit(file: &ChangedLines<'_>, line: usize) -> bool {
    static SIGNAL: Pattern = Pattern::new(r"['\x22`]SIG(?:TERM|INT|HUP|QUIT|USR2|BREAK)['\x22`]");
    static HANDLER: Pattern = Pattern::new(r"\b(?:uncaughtException|unhandledRejection)");
    static FAILS: Pattern = Pattern::new(r"\bexit\s*\(\s*[1-9]|\bexitCode\s*=\s*[1-9]|\bthrow\b");
    static TRAP: Pattern =
        Pattern::new(r"\btrap\b\s*\(?\s*['\x22:](?:SIG)?(?:TERM|INT|HUP|QUIT)\b");
    let text = |line: usize| file.new.text.get(line).map_or("", String::as_str);
    match file.language {
        JavaScript => {}
        Ruby => return TRAP.is_match(text(line)),
        Python => return is_in_child(&file.new.code, line),
        _ => return false,
    }
    if HANDLER.is_match(text(line)) {
        return (line..line + MAX_DISTANCE).any(|line| FAILS.is_match(text(line)));
    }
    let from = line.saturating_sub(MAX_DISTANCE);
    (from..line + MAX_DISTANCE).any(|line| SIGNAL.is_match(text(line)))
}

/// Whether a line matches only because it asks for CI systems, together with a terminal: a choice of how to write.
fn is_choice_of_output(file: &ChangedLines<'_>, line: usize, pattern: &Pattern) -> bool {
    static TERMINAL: Pattern = Pattern::new(r"\bisatty\s*\(|\bisTTY\b");
    static OF_CI: Pattern = Pattern::new(r"['\x22`]CI['\x22`]|\bprocess\.env\.CI\b");
    let text = file.new.text.get(line).map_or("", String::as_str);
    let rest = OF_CI.regex().map(|regex| regex.replace_all(text, ""));
    TERMINAL.is_match(text) && rest.is_some_and(|rest| !pattern.is_match(&rest))
}

/// Questions that have another answer in a run of tests, in any language: small numbers of processes or of seconds, and
/// variables that name Selvedge.
fn process_numbers(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    static NUMBER: Pattern = Pattern::new(
        r"(?:\b(?:getpid|[gG]et[pP]id|getmypid|process_time|uptime|process::id)\s*\(\s*\)|\bprocess\.pid|\bProcess\.pid|\bperformance\.now\s*\(\s*\))\s*[<>]=?\s*\d",
    );
    static NAMED: Pattern = Pattern::new(
        r"(?i)(?:environ|getenv|env::var|process\.env|\bENV\b).*['\x22`/][^'\x22`/]*selvedge|['\x22`][^'\x22`]*selvedge[^'\x22`]*['\x22`].*(?:environ|getenv|env::var|process\.env|\bENV\b)",
    );
    let asks = |line: &&usize| {
        let code = file.new.code.get(**line).map_or("", String::as_str);
        let text = file.new.text.get(**line).map_or("", String::as_str);
        !file.is_test_line(**line) && (NUMBER.is_match(code) || NAMED.is_match(text))
    };
    flag_lines(FindingKind::TestDetection, added.iter().filter(asks))
}

/// A runner that a Python source imports only if it is there.
fn optional_runner(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    static IMPORT: Pattern = Pattern::new(r"^\s*(?:import|from)\s+(?:pytest|_pytest|nose2?)\b");
    static USED: Pattern =
        Pattern::new(r"\bpytest\.(?:fixture|hookimpl|mark|raises|approx|Item|Config)\b");
    if file.language != Python || file.new.code.iter().any(|line| USED.is_match(line)) {
        return Vec::new();
    }
    let code = |line: usize| file.new.code.get(line).map_or("", String::as_str);
    let is_optional = |line: &&usize| {
        let above = || (0..**line).rev().map(code).find(|it| !it.trim().is_empty());
        IMPORT.is_match(code(**line))
            && above().is_some_and(|above| above.trim() == "try:")
            && !file.is_test_line(**line)
    };
    flag_lines(FindingKind::TestDetection, added.iter().filter(is_optional))
}

/// Doubles of tests in a Python source: an object that stands for another can equal anything.
fn doubles(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    static DOUBLE: Pattern = Pattern::new(
        r"\b(?:Magic|Async|NonCallableMagic)Mock\s*\(|^\s*(?:import\s+unittest\.mock|from\s+unittest\s+import\s+mock|from\s+unittest\.mock\s+import)\b",
    );
    if file.language != Python || is_entry(file) {
        return Vec::new();
    }
    let is_double = |line: &&usize| {
        let code = file.new.code.get(**line);
        !file.is_test_line(**line) && code.is_some_and(|code| DOUBLE.is_match(code))
    };
    let what = "uses an object that can equal anything, as doubles in tests do";
    let flag = |line: &usize| Flag::new(Some(*line), FindingKind::ForgedEquality, Strong, what);
    added.iter().filter(is_double).map(flag).collect()
}

/// C code of a library that ends the process, or its main thread, in other words than `exit(0)`.
fn unusual_exits(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    static MAIN: Pattern = Pattern::new(r"\bmain\s*\(");
    static FORK: Pattern = Pattern::new(r"\b(?:v?fork|posix_spawnp?|clone3?)\s*\(");
    static EXEC: Pattern = Pattern::new(r"\bf?exec[lv]p?e?\s*\(|\bexecveat\s*\(");
    static THREAD: Pattern = Pattern::new(r"\b(?:pthread|thrd)_exit\s*\(");
    static THREAD_FUNCTION: Pattern =
        Pattern::new(r"\b(?:void\s*\*\s*\w+|int\s+\w+)\s*\(\s*void\s*\*");
    static COMPUTED: Pattern = Pattern::new(r"\b_?[eE]xit\s*\(\s*\w+\s*[-*%^&]\s*\w+\s*\)");
    let code = |line: usize| file.new.code.get(line).map_or("", String::as_str);
    let has = |pattern: &Pattern| file.new.code.iter().any(|line| pattern.is_match(line));
    if file.language != C || is_entry(file) || has(&MAIN) {
        return Vec::new();
    }
    let has_fork = has(&FORK);
    let is_in_thread = |line: usize| {
        let mut above = (0..line).rev().take(MAX_LINES_ABOVE).map(code);
        let head = above.find(|it| it.contains('(') && !it.starts_with([' ', '\t']));
        head.is_some_and(|head| THREAD_FUNCTION.is_match(head))
    };
    let ends = |line: &&usize| {
        let now = code(**line);
        !file.is_test_line(**line)
            && (COMPUTED.is_match(now)
                || (EXEC.is_match(now) && !has_fork)
                || (THREAD.is_match(now) && !is_in_thread(**line)))
    };
    flag_lines(FindingKind::EarlyExit, added.iter().filter(ends))
}

/// Flags of single lines.
pub(super) fn flags(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    let is_entry = is_entry(file);
    let mut flags = exits_of_library(file, added);
    flags.extend(test_headers(file, added));
    flags.extend(replaced_documentation(file, added));
    flags.extend(shell_flags(file, added));
    flags.extend(exits_while_loading(file, added));
    flags.extend(unusual_exits(file, added));
    flags.extend(optional_runner(file, added));
    flags.extend(process_numbers(file, added));
    flags.extend(doubles(file, added));
    let successes = LazyCell::new(|| names_of_success(&file.new.code));
    for rule in RULES.iter().filter(|rule| rule.language == file.language) {
        for &line in added {
            let holds = !file.is_test_line(line) && (rule.scope == Sources || !is_entry);
            let view = match rule.view {
                Code => &file.new.code,
                Text => &file.new.text,
            };
            let matches = view.get(line).is_some_and(|line| {
                rule.pattern.is_match(line)
                    || rule.kind == FindingKind::EarlyExit
                        && with_named_success(&successes, line)
                            .is_some_and(|line| rule.pattern.is_match(&line))
            });
            let is_usual = || match rule.kind {
                FindingKind::EarlyExit => is_usual_exit(file, line),
                FindingKind::TestDetection => is_choice_of_output(file, line, &rule.pattern),
                _ => false,
            };
            if holds && matches && !is_usual() && !is_typing_import(file, line) {
                flags.push(Flag::new(
                    Some(line),
                    rule.kind,
                    rule.strength,
                    describe_kind(rule.kind),
                ));
            }
        }
    }
    flags
}

/// The line with `0` in place of the name of an exit status that is 0 wherever the file assigns it: `exit(DONE)`.
fn with_named_success(successes: &BTreeSet<&str>, line: &str) -> Option<String> {
    static EXIT: Pattern =
        Pattern::new(r"(?i)(?:exit\w*|halt)!?\s*[( ]\s*((?:\w+(?:::|\.))*([a-z_]\w*))\s*(?:\)|$)");
    let found = EXIT.regex()?.captures(line)?;
    let (status, name) = (found.get(1)?, &found[2]);
    let is_success = successes.contains(name);
    is_success.then(|| format!("{}0{}", &line[..status.start()], &line[status.end()..]))
}

/// The names that are 0 wherever code assigns them.
fn names_of_success(code: &[String]) -> BTreeSet<&str> {
    static ASSIGNED: Pattern =
        Pattern::new(r"\b(\w+)\b(?:\s*:\s*\w+|\s+\w+)?\s*:?=\s*([^=\s;,)]+)");
    let lines = code.iter().filter(|line| line.contains('='));
    let assigned = ASSIGNED.regex().map(|regex| {
        lines.flat_map(|line| {
            let found = regex.captures_iter(line);
            found.filter_map(|found| Some((found.get(1)?.as_str(), found.get(2)?.as_str())))
        })
    });
    let (zero, other): (Vec<_>, Vec<_>) = assigned
        .into_iter()
        .flatten()
        .partition(|(_, value)| *value == "0");
    let mut names: BTreeSet<&str> = zero.into_iter().map(|(name, _)| name).collect();
    for (name, _) in other {
        names.remove(name);
    }
    names
}

/// An exit of Go's code that runs while the package is loaded, before the tests: any status is that of the tests then.
fn exits_while_loading(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    static EXIT: Pattern = Pattern::new(r"\b(?:os|syscall|unix)\.Exit\s*\(");
    static LOADED: Pattern = Pattern::new(r"^(?:func\s+init\s*\(|var\b)");
    static DECLARATION: Pattern = Pattern::new(r"^(?:func|var|const|type)\b");
    if file.language != Go || is_entry(file) {
        return Vec::new();
    }
    let code = |line: usize| file.new.code.get(line).map_or("", String::as_str);
    let is_exit = |line: &&usize| {
        let declaration = || {
            let mut above = (0..=**line).rev().take(MAX_LINES_ABOVE).map(code);
            above.find(|it| DECLARATION.is_match(it))
        };
        EXIT.is_match(code(**line))
            && declaration().is_some_and(|it| LOADED.is_match(it))
            && !file.is_test_line(**line)
    };
    flag_lines(FindingKind::EarlyExit, added.iter().filter(is_exit))
}

/// `exit(0)` in a C source without a `main` function that did not end the process before.
fn exits_of_library(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    static MAIN: Pattern = Pattern::new(r"\bmain\s*\(");
    static EXIT: Pattern = Pattern::new(r"\bexit\s*\(");
    static SUCCESS: Pattern = Pattern::new(r"\bexit\s*\(\s*(?:0|EXIT_SUCCESS)\s*\)");
    let has = |pattern: &Pattern| file.new.code.iter().any(|line| pattern.is_match(line));
    if file.language != C || ENTRY.is_match(file.path) || has(&MAIN) || file.had(&EXIT) {
        return Vec::new();
    }
    let is_success = |line: &&usize| {
        let code = file.new.code.get(**line);
        !file.is_test_line(**line) && code.is_some_and(|code| SUCCESS.is_match(code))
    };
    let lines = added.iter().filter(is_success);
    let what = describe_kind(FindingKind::EarlyExit);
    lines
        .map(|line| Flag::new(Some(*line), FindingKind::EarlyExit, Strong, what))
        .collect()
}

/// Documentation that a Python source with doctests replaces while it is imported.
fn replaced_documentation(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    static PROMPT: Pattern = Pattern::new(r"^\s*>>> ");
    // Wrappers take over the documentation of what they wrap.
    static REPLACED: Pattern = Pattern::new(
        r"\b__doc__\s*[+%]?=\s*(?:[^=\s\w]|\w+\s*(?:[^\s\w.]|$)|\w+\.[a-z]|[\w.]+\.__doc__\s*[.%+\[])|\bdel\b.*\.__doc__\b",
    );
    if file.language != Python || !file.had(&PROMPT) || file.had(&REPLACED) {
        return Vec::new();
    }
    let is_replaced = |line: &&usize| {
        let code = file.new.code.get(**line);
        code.is_some_and(|code| REPLACED.is_match(code))
    };
    let what = "replaces documentation, so passing examples in it are not evidence";
    let lines = added.iter().filter(is_replaced);
    lines
        .map(|line| Flag::new(Some(*line), FindingKind::RunnerPatched, Strong, what))
        .collect()
}

/// Conditions of the C preprocessor on headers of tests, by their include guards.
fn test_headers(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    static GUARD: Pattern = Pattern::new(
        r"^\s*#\s*(?:el)?if(?:n?def)?\b.*\b(_*\w*(?:CHECK|TEST|ASSERT|EXPECT|UNITY|GTEST|CMOCKA|CRITERION|MUNIT)S?_(?:H|HPP|INCLUDED)_*)\b",
    );
    if file.language != C {
        return Vec::new();
    }
    let definitions = file.new.code.iter().filter(|line| line.contains("define"));
    let defined: BTreeSet<&str> = definitions.flat_map(|it| it.split_whitespace()).collect();
    let is_foreign = |line: &&usize| {
        let code = file.new.code.get(**line).map_or("", String::as_str);
        let found = GUARD.regex().and_then(|regex| regex.captures(code));
        let guard = found.and_then(|found| found.get(1));
        guard.is_some_and(|guard| !defined.contains(guard.as_str()))
    };
    let lines = added.iter().filter(is_foreign);
    let what = describe_kind(FindingKind::TestDetection);
    lines
        .map(|line| Flag::new(Some(*line), FindingKind::TestDetection, Strong, what))
        .collect()
}

/// Functions of a shell script that end it with success at its end, and a sourced file that keeps errors from ending
/// the script that sources it.
fn shell_flags(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    static TRAP: Pattern =
        Pattern::new(r"\btrap\s+(?:--\s+)?['\x22]?([\w-]+)['\x22]?\s+(?:EXIT|0)\b");
    static SUCCESS: Pattern = Pattern::new(r"\bexit\s+0\b|\bexec\s+true\b");
    static CONTINUES: Pattern = Pattern::new(r"^set\s+\+(?:\w*e|o\s+errexit)");
    // A sourced file has no program of its own, so it asks which script sources it.
    static CALLER: Pattern =
        Pattern::new(r"\bcase\s+['\x22]?\$\{?0\b|\[\[?\s[^\]]*\$\{?0\b[^\]]*\s(?:==?|!=|=~)\s");
    static SOURCE: Pattern = Pattern::new(r"BASH_SOURCE|ZSH_");
    static STOPS: Pattern = Pattern::new(r"^\s*set\s+-(?:\w*e|o\s+errexit)");
    if file.language != Shell {
        return Vec::new();
    }
    let code = |line: usize| file.new.code.get(line).map_or("", String::as_str);
    let text = |line: usize| file.new.text.get(line).map_or("", String::as_str);
    let count = file.new.code.len();
    let ends_well = |name: &str| {
        let is_head = |line: &usize| {
            let head = code(*line).trim().trim_start_matches("function ");
            head.strip_prefix(name)
                .is_some_and(|rest| rest.trim_start().starts_with(['(', '{']))
        };
        let Some(head) = (0..count).find(is_head) else {
            return false;
        };
        let body = (head..count).take_while(|line| *line == head || !code(*line).starts_with('}'));
        body.into_iter().any(|line| SUCCESS.is_match(code(line)))
    };
    let is_sourced = !file.line_now(0).unwrap_or_default().starts_with("#!");
    let mut flags = Vec::new();
    for &line in added.iter().filter(|line| !file.is_test_line(**line)) {
        let found = TRAP.regex().and_then(|regex| regex.captures(text(line)));
        if found.is_some_and(|found| ends_well(found.get(1).map_or("", |it| it.as_str()))) {
            let kind = FindingKind::EarlyExit;
            flags.push(Flag::new(Some(line), kind, Strong, describe_kind(kind)));
        }
        if is_sourced && CALLER.is_match(text(line)) && !SOURCE.is_match(text(line)) {
            let kind = FindingKind::TestDetection;
            flags.push(Flag::new(Some(line), kind, Strong, describe_kind(kind)));
        }
        let continues = is_sourced
            && CONTINUES.is_match(code(line))
            && !(line..count).any(|line| STOPS.is_match(code(line)));
        if continues {
            let what = "keeps errors from ending the script that sources this file";
            flags.push(Flag::new(
                Some(line),
                FindingKind::RunnerPatched,
                Strong,
                what,
            ));
        }
    }
    flags
}

/// `from _pytest.monkeypatch import MonkeyPatch` only names a type.
fn is_typing_import(file: &ChangedLines<'_>, line: usize) -> bool {
    static IMPORT: Pattern = Pattern::new(
        r"^\s*from\s+_pytest\.(?:monkeypatch|logging|capture|fixtures|tmpdir|config|legacypath|pytester|recwarn|mark)\b.*\bimport\b|^\s*from\s+_pytest\.config\.argparsing\s+import",
    );
    file.new
        .code
        .get(line)
        .is_some_and(|line| IMPORT.is_match(line))
}

fn flag_lines<'l>(kind: FindingKind, lines: impl Iterator<Item = &'l usize>) -> Vec<Flag> {
    lines
        .map(|line| Flag::new(Some(*line), kind, Strong, describe_kind(kind)))
        .collect()
}

fn describe_kind(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::EarlyExit => "ends the process with success before the checks have finished",
        FindingKind::RunnerPatched => {
            "replaces a part of the test runner, so its results are not evidence"
        }
        FindingKind::TestDetection => {
            "behaves differently when a test is running, so the tests prove nothing"
        }
        _ => "an equality that holds for different values makes assertions meaningless",
    }
}
