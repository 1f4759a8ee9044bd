//! What a shell script does with the output of the project's programs: who produces it, and who judges it.
//!
//! Scripts are split into commands, not evaluated. A function or program that receives such output as an argument or
//! as its input, and whose own output nothing reads, decides by its exit status: it judges.

use std::collections::BTreeSet;

/// Longer scripts are not read.
const MAX_BYTES: usize = 256 << 10;
/// Maximum depth of substitutions in substitutions.
const MAX_DEPTH: usize = 8;

/// A word of a command, with the commands that it substitutes.
#[derive(Debug, Default, Clone)]
pub(super) struct ShellWord {
    /// Without quotes and without substitutions.
    pub(super) text: String,
    pub(super) substituted: Vec<Pipeline>,
}

/// A command between the separators of a shell.
#[derive(Debug, Default, Clone)]
pub(super) struct ShellCommand {
    pub(super) words: Vec<ShellWord>,
}

/// Commands that are connected by pipes.
#[derive(Debug, Default, Clone)]
pub(super) struct Pipeline {
    pub(super) commands: Vec<ShellCommand>,
}

/// Words before the name of a command.
const KEYWORDS: [&str; 16] = [
    "if", "elif", "while", "until", "then", "do", "else", "!", "{", "time", "exec", "command",
    "eval", "env", "timeout", "done",
];

impl ShellCommand {
    /// The words from the name of the command on, and the variables that are assigned before it.
    pub(super) fn invocation(&self) -> &[ShellWord] {
        let is_before = |word: &&ShellWord| {
            KEYWORDS.contains(&word.text.as_str())
                || word.text.ends_with("()")
                || assigned_variable(&word.text).is_some()
        };
        let count = self.words.iter().take_while(is_before).count();
        self.words.get(count..).unwrap_or_default()
    }

    /// The variables that the command assigns.
    pub(super) fn assignments(&self) -> impl Iterator<Item = (&str, &ShellWord)> {
        let pairs = self
            .words
            .iter()
            .map(|word| (assigned_variable(&word.text), word));
        pairs.filter_map(|(name, word)| Some((name?, word)))
    }

    /// The files that the command writes its output to.
    pub(super) fn outputs(&self) -> impl Iterator<Item = &str> {
        let pairs = self.words.iter().zip(self.words.iter().skip(1));
        let next = pairs.filter(|(word, _)| matches!(word.text.as_str(), ">" | ">>" | "1>"));
        let joined = self
            .words
            .iter()
            .filter_map(|word| word.text.strip_prefix('>'));
        let joined = joined.map(|it| it.trim_start_matches('>'));
        next.map(|(_, target)| target.text.as_str())
            .chain(joined)
            .filter(|target| {
                !target.is_empty() && *target != "/dev/null" && !target.starts_with('&')
            })
    }
}

fn assigned_variable(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '_')
        && !name.starts_with(|it: char| it.is_ascii_digit());
    is_name.then_some(name)
}

/// Splits a script into its pipelines, in order. Bodies of functions and loops are part of the list.
pub(super) fn pipelines_of(text: &str) -> Vec<Pipeline> {
    if text.len() > MAX_BYTES {
        return Vec::new();
    }
    let mut reader = Reader {
        rest: text,
        depth: 0,
        here_documents: Vec::new(),
    };
    reader.read(None)
}

struct Reader<'t> {
    rest: &'t str,
    depth: usize,
    /// The words that end the documents which begin after this line.
    here_documents: Vec<String>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let first = chars.next();
        self.rest = chars.as_str();
        first
    }

    fn take(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Reads pipelines until `end`, or to the end of the text.
    fn read(&mut self, end: Option<char>) -> Vec<Pipeline> {
        let mut pipelines = Vec::new();
        let mut pipeline = Pipeline::default();
        let mut command = ShellCommand::default();
        let mut word: Option<ShellWord> = None;
        let close_command =
            |word: &mut Option<ShellWord>, command: &mut ShellCommand, pipeline: &mut Pipeline| {
                command.words.extend(word.take());
                if !command.words.is_empty() {
                    pipeline.commands.push(std::mem::take(command));
                }
            };
        let mut opened = 0_usize;
        while let Some(it) = self.next() {
            match it {
                '\\' => {
                    if let Some(escaped) = self.next().filter(|it| *it != '\n') {
                        word.get_or_insert_default().text.push(escaped);
                    }
                }
                '\'' => {
                    let length = self.rest.find('\'').unwrap_or(self.rest.len());
                    let (quoted, rest) = self.rest.split_at(length);
                    word.get_or_insert_default().text.push_str(quoted);
                    self.rest = rest.get(1..).unwrap_or_default();
                }
                '"' => self.read_quoted(word.get_or_insert_default()),
                '$' | '`' => self.read_dollar(it, word.get_or_insert_default()),
                '#' if word.is_none() => {
                    let length = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = self.rest.get(length..).unwrap_or_default();
                }
                ' ' | '\t' | '\r' => command.words.extend(word.take()),
                '|' if self.take("|") => {
                    close_command(&mut word, &mut command, &mut pipeline);
                    pipelines.push(std::mem::take(&mut pipeline));
                }
                '|' => close_command(&mut word, &mut command, &mut pipeline),
                '>' if self.rest.starts_with('&') => {
                    self.take("&");
                    word.get_or_insert_default().text.push_str(">&");
                }
                '<' if self.take("<<") => word.get_or_insert_default().text.push('<'),
                '<' if self.take("<") => {
                    self.take("-");
                    let length = self.rest.find(['\n', ' ', ';', '|', ')', '&']);
                    let (mark, rest) = self.rest.split_at(length.unwrap_or(self.rest.len()));
                    let mark = mark.trim_matches(['\'', '"', '\\']);
                    self.here_documents.push(mark.to_owned());
                    self.rest = rest;
                }
                '(' if command.words.is_empty() && word.is_none() => opened += 1,
                ')' if opened > 0 => {
                    opened -= 1;
                    command.words.extend(word.take());
                }
                _ if Some(it) == end => break,
                '\n' | ';' | '&' => {
                    close_command(&mut word, &mut command, &mut pipeline);
                    if !pipeline.commands.is_empty() {
                        pipelines.push(std::mem::take(&mut pipeline));
                    }
                    if it == '\n' {
                        self.skip_here_documents();
                    }
                }
                _ => word.get_or_insert_default().text.push(it),
            }
        }
        close_command(&mut word, &mut command, &mut pipeline);
        if !pipeline.commands.is_empty() {
            pipelines.push(pipeline);
        }
        pipelines
    }

    fn read_quoted(&mut self, word: &mut ShellWord) {
        while let Some(it) = self.next() {
            match it {
                '"' => return,
                '\\' => word.text.extend(self.next()),
                '$' | '`' => self.read_dollar(it, word),
                _ => word.text.push(it),
            }
        }
    }

    /// Reads a variable or a substitution; its first character was read.
    fn read_dollar(&mut self, first: char, word: &mut ShellWord) {
        let is_substitution =
            first == '`' || (self.rest.starts_with('(') && !self.rest.starts_with("(("));
        if !is_substitution || self.depth >= MAX_DEPTH {
            word.text.push(first);
            return;
        }
        if first == '$' {
            self.take("(");
        }
        self.depth += 1;
        let end = if first == '`' { '`' } else { ')' };
        let inner = if end == '`' {
            let length = self.rest.find('`').unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(length);
            self.rest = rest.get(1..).unwrap_or_default();
            let mut reader = Reader {
                rest: text,
                depth: self.depth,
                here_documents: Vec::new(),
            };
            reader.read(None)
        } else {
            self.read(Some(end))
        };
        self.depth -= 1;
        word.substituted.extend(inner);
    }

    fn skip_here_documents(&mut self) {
        for mark in std::mem::take(&mut self.here_documents) {
            while !self.rest.is_empty() {
                let length = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
                let (line, rest) = self.rest.split_at(length);
                self.rest = rest;
                if line.trim() == mark {
                    break;
                }
            }
        }
    }
}

/// What the words of a script stand for.
pub(super) trait ShellNames {
    /// Whether the word names a program or source of the project, or a function that a sourced library defines.
    fn is_code(&self, word: &str) -> bool;
    /// The files of the project that define this function, or are this program or source.
    fn files(&self, word: &str) -> Vec<String>;
}

/// Programs whose arguments name what they run.
const INTERPRETERS: [&str; 19] = [
    "sh", "bash", "dash", "zsh", "ksh", "python", "python3", "node", "ruby", "perl", "php", "lua",
    "awk", "gawk", "mawk", "sed", "jq", "tsx", "java",
];
/// Programs that build and run the project.
const RUNNERS: [&str; 9] = [
    "cargo", "go", "npm", "npx", "pnpm", "yarn", "make", "mvn", "gradle",
];

/// Files whose exit status decides about the output of other code of the project.
#[derive(Debug, Default)]
pub(super) struct Judges {
    pub(super) files: BTreeSet<String>,
    /// Files whose own output is read: they are a subject of the script.
    pub(super) subjects: BTreeSet<String>,
}

/// Functions that scripts call with output of the project. A library's functions are called by other scripts.
#[derive(Debug, Default)]
pub(super) struct Receivers {
    by_argument: BTreeSet<String>,
    by_input: BTreeSet<String>,
}

/// Finds the files that judge, according to the script.
pub(super) fn find_judges(text: &str, names: &dyn ShellNames, receivers: &mut Receivers) -> Judges {
    let pipelines = pipelines_of(text);
    let mut flow = Flow {
        names,
        tainted: BTreeSet::new(),
        function: None,
        receivers,
        judges: Judges::default(),
    };
    // Functions may be defined after their use.
    for _ in 0..2 {
        flow.function = None;
        for pipeline in &pipelines {
            flow.read(pipeline);
        }
    }
    flow.judges
}

struct Flow<'n> {
    names: &'n dyn ShellNames,
    /// Variables, files and functions of the script with output of the project.
    tainted: BTreeSet<String>,
    /// The function whose body is being read.
    function: Option<String>,
    receivers: &'n mut Receivers,
    judges: Judges,
}

impl Flow<'_> {
    fn read(&mut self, pipeline: &Pipeline) {
        for command in &pipeline.commands {
            let words: Vec<&str> = command.words.iter().map(|it| it.text.as_str()).collect();
            match words.as_slice() {
                ["function", name, ..] => {
                    self.function = Some((*name).trim_end_matches("()").to_owned());
                }
                [name, ..] if name.ends_with("()") => {
                    self.function = Some(name.trim_end_matches("()").to_owned());
                }
                ["}", ..] => self.function = None,
                _ => {}
            }
            for (name, word) in command.assignments() {
                if self.is_output(word) {
                    self.tainted.insert(format!("${name}"));
                }
            }
        }
        let is_produced = pipeline
            .commands
            .iter()
            .any(|command| self.produces(command));
        if is_produced {
            self.tainted.extend(self.function.clone());
        }
        for command in &pipeline.commands {
            if let Some(program) = command
                .invocation()
                .first()
                .filter(|_| self.receives(command))
            {
                self.receivers.by_argument.insert(program.text.clone());
            }
        }
        let Some(last) = pipeline.commands.last() else {
            return;
        };
        let is_fed = |name: &String| self.receivers.by_input.contains(name);
        let receives_input = self.function.as_ref().is_some_and(is_fed)
            || pipeline
                .commands
                .iter()
                .rev()
                .skip(1)
                .any(|command| self.produces(command) || self.receives(command));
        if let Some(program) = last.invocation().first().filter(|_| receives_input) {
            self.receivers.by_input.insert(program.text.clone());
        }
        if is_produced || receives_input {
            let outputs: Vec<String> = last.outputs().map(str::to_owned).collect();
            self.tainted.extend(outputs);
        }
        // Everything but the last command, and what is substituted or redirected, is read by something else.
        let (read, judging) = match last.outputs().next() {
            Some(_) => (pipeline.commands.as_slice(), None),
            None => (
                pipeline
                    .commands
                    .get(..pipeline.commands.len() - 1)
                    .unwrap_or_default(),
                Some(last),
            ),
        };
        for command in read {
            self.judges.subjects.extend(self.named_files(command));
        }
        for word in pipeline.commands.iter().flat_map(|it| &it.words) {
            self.add_substituted(word);
        }
        if let Some(command) = judging.filter(|it| receives_input || self.receives(it)) {
            self.judges.files.extend(self.named_files(command));
        }
    }

    fn add_substituted(&mut self, word: &ShellWord) {
        for command in word.substituted.iter().flat_map(|it| &it.commands) {
            self.judges.subjects.extend(self.named_files(command));
            command
                .words
                .iter()
                .for_each(|word| self.add_substituted(word));
        }
    }

    /// Whether the command's output comes from the project.
    fn produces(&self, command: &ShellCommand) -> bool {
        let Some((program, arguments)) = command.invocation().split_first() else {
            return false;
        };
        let name = program.text.rsplit('/').next().unwrap_or_default();
        let is_path = program.text.contains('/') && !program.text.starts_with('/');
        is_path
            || RUNNERS.contains(&name)
            || self.tainted.contains(&program.text)
            || self.names.is_code(&program.text)
            || (INTERPRETERS.contains(&name)
                && arguments.iter().any(|word| self.names.is_code(&word.text)))
    }

    /// Whether an argument of the command is output of the project, or names a file with it.
    fn receives(&self, command: &ShellCommand) -> bool {
        let arguments = command.invocation().iter().skip(1);
        arguments.into_iter().any(|word| self.is_output(word))
    }

    fn is_output(&self, word: &ShellWord) -> bool {
        let is_called = |name: &String| self.receivers.by_argument.contains(name);
        let has_output = self.function.as_ref().is_some_and(is_called);
        let variables = word.text.match_indices('$').any(|(at, _)| {
            let name = word.text[at + 1..].trim_start_matches('{');
            let end = name.find(|it: char| !it.is_ascii_alphanumeric() && it != '_');
            let is_argument =
                name.starts_with(['@', '*', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
            let name = &name[..end.unwrap_or(name.len())];
            (is_argument && has_output) || self.tainted.contains(&format!("${name}"))
        });
        let file = word.text.trim_start_matches('<');
        variables
            || (!file.is_empty() && self.tainted.contains(file))
            || word.substituted.iter().any(|pipeline| {
                let mut commands = pipeline.commands.iter();
                commands.any(|command| self.produces(command) || self.receives(command))
            })
    }

    /// The files that a command runs: the one that defines its name, or the ones that its interpreter reads.
    fn named_files(&self, command: &ShellCommand) -> Vec<String> {
        let Some((program, arguments)) = command.invocation().split_first() else {
            return Vec::new();
        };
        let name = program.text.rsplit('/').next().unwrap_or_default();
        if INTERPRETERS.contains(&name) {
            let scripts = arguments.iter().filter(|word| word.substituted.is_empty());
            return scripts
                .flat_map(|word| self.names.files(&word.text))
                .collect();
        }
        self.names.files(&program.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named;

    impl ShellNames for Named {
        fn is_code(&self, word: &str) -> bool {
            matches!(word, "total.sh" | "up")
        }

        fn files(&self, word: &str) -> Vec<String> {
            let file = match word {
                "same" => "lib/util.sh",
                "up" => "lib/strings.sh",
                "total.sh" | "lib/cmp.awk" | "judge.py" => word,
                _ => return Vec::new(),
            };
            vec![file.to_owned()]
        }
    }

    #[test]
    fn flow_of_output_to_judges() {
        let judges = |text: &str| {
            let found = find_judges(text, &Named, &mut Receivers::default());
            let own = found.files.difference(&found.subjects);
            own.cloned().collect::<Vec<_>>().join(" ")
        };
        for (text, expected) in [
            ("same 3 \"$(sh total.sh 1 2)\"\n", "lib/util.sh"),
            (
                "out=$(sh total.sh 1)\nif ! same 1 \"$out\"; then exit 1; fi\n",
                "lib/util.sh",
            ),
            (
                "run() {\n  sh total.sh \"$@\"\n}\nsame 3 \"`run 1 2`\"\n",
                "lib/util.sh",
            ),
            ("sh total.sh 1 > out.txt\nsame 1 out.txt\n", "lib/util.sh"),
            ("same A \"$(up a)\"\n", "lib/util.sh"),
            (
                "sh total.sh 1 2 | awk -v want=3 -f lib/cmp.awk\n",
                "lib/cmp.awk",
            ),
            (
                "sh total.sh 1 | sort | python3 judge.py || exit 1\n",
                "judge.py",
            ),
            ("(cd x && same 3 $(sh total.sh 1 2))\n", "lib/util.sh"),
            (
                "near() {\n    echo \"$1 $2\" | awk -f lib/cmp.awk\n}\nnear 3 \"$(sh total.sh 1 2)\"\n",
                "lib/cmp.awk",
            ),
            (
                "near() { awk -v want=$1 -f lib/cmp.awk; }\nsh total.sh 1 2 | near 3\n",
                "lib/cmp.awk",
            ),
            ("near() { awk -f lib/cmp.awk \"$1\"; }\nnear 3\n", ""),
            ("same a \"$(basename b)\"\n", ""),
            ("[ \"$(same 1 \"$(sh total.sh)\")\" = yes ]\n", ""),
            (
                "sh total.sh 1 | awk -f lib/cmp.awk > out; diff out want\n",
                "",
            ),
            (
                "# same 3 \"$(sh total.sh)\"\necho 'same 1 $(sh total.sh)'\n",
                "",
            ),
            ("cat <<END\nsame 1 $(sh total.sh)\nEND\n", ""),
        ] {
            assert_eq!(judges(text), expected, "{text}");
        }
    }
}
