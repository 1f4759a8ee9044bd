# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_selvedge_global_optspecs
    string join \n h/help V/version
end

function __fish_selvedge_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_selvedge_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_selvedge_using_subcommand
    set -l cmd (__fish_selvedge_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c selvedge -n "__fish_selvedge_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_needs_command" -s V -l version -d 'Print version'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "run" -d 'Run an agent on a task until independent checks pass'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "demo" -d 'See the loop at work on a small repository made for it'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "init" -d 'Find this repository\'s checks, try each once, and write `selvedge.toml`'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "doctor" -d 'Say what is installed, what works, and what is enforced'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "verify" -d 'Run the checks once on work done by anyone. Never retries'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "known-failures" -d 'List the tests that fail now, as known failures for `selvedge.toml` or a file'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "digest" -d 'Digest a tool\'s output from standard input: `cargo test 2>&1 | selvedge digest`'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "list" -d 'List runs, the newest first'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "show" -d 'Tell the whole story of a run'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "stats" -d 'What the loop buys: verified at once, rescued by a retry, not rescued, and the cost of each'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "ui" -d 'Show the runs in a browser: a page on this machine alone, for whoever has the link it prints'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "resume" -d 'Go on with a run that was interrupted'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "restore" -d 'Put the tree of an attempt, or the one before the run, back into the workspace'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "review" -d 'Accept or reject work that waits for a person'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "submit" -d 'Hand a task to a hub'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "watch" -d 'Watch a hub\'s task until it is over'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "cancel" -d 'Stop a hub\'s task for good'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "retry" -d 'Make a new task from one of a hub\'s that is over'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "workers" -d 'List a hub\'s workers'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "tokens" -d 'Make, list and end a hub\'s tokens'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "worker" -d 'Carry out tasks for a hub'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "attest" -d 'Make keys for attestations, and check what was attested'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "hook" -d 'Be an agent\'s hook: it may stop once the checks hold'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "mcp" -d 'Be a tool server for agents (Model Context Protocol over standard input and output)'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "gc" -d 'Remove clones, copies and snapshots that nobody needs any more'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "hub" -d 'Keep a queue of tasks for a team, with their history, for workers to carry out'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "config" -d 'Look at the settings'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "man" -d 'Print the manual page'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l file -d 'Read the task from a file (`-` for standard input): text, a task object in JSON, or one in TOML (`.toml`), which may be a plan of several `[[subtasks]]`' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l agent -d 'Which configured agent does the work: `claude`, `codex`, `gemini`, `qwen`, `opencode`, `aider`, `mini`, `ollama`, one of your own, or `acp:PROGRAM` for any that speaks the Agent Client Protocol; `cursor`, `amp`, `droid`, `copilot` and `goose` are experimental [default: claude]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l escalate -d 'Who works, try by try: several names, the first for the first attempt; the last one stays' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l agent-cmd -d 'Any program as the agent: it gets the prompt on standard input' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l check -d 'A command that must exit with 0; may be given several times. Replaces the configured checks' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l verification-timeout -d 'Time for each verification run, afresh [default: 120s]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l sandbox -d 'Sandbox of agents and checks: `auto`, `bubblewrap`, `landlock`, `podman`, `docker` or `none` [default: auto]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l check-env -d 'A variable of yours that checks see besides what builds ordinarily need; may be given several times' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l expect-test-changes -d 'A change of tests that the task asks for: a glob of files, or a test\'s id as reports name it; may be given several times. What it names counts as it was changed, all other tests are run as they were' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l retries -d 'Corrections after the first attempt, 0 to 5 [default: 2]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l tier -d 'How far to verify: 1 the checks, 2 a model as judge, 3 a vote [default: 1]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l judge -d 'Which configured agent judges in tiers 2 and 3; may be given several times' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l executions -d 'Run the task this often side by side, 2 to 9, each in a copy of the directory; the work that most agree with stays. It is what votes in tier 3, instead of judges' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l timeout -d 'Time for each agent session [default: 30m]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l baseline -d 'Run the checks once before the agent begins: `auto`, `on` or `off` [default: auto]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l known-failure -d 'A test that may fail if it failed as now before the work began, by the id that its runner prints; may be given several times. Replaces the configured list' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l known-failures -d 'A file that lists such tests, one a line, as `selvedge known-failures` writes it' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l max-cost -d 'Cap on the cost of the whole run' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l max-tokens -d 'Cap on the tokens of the whole run, in and out' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l max-wall -d 'Cap on the time that the whole run spends in sessions and verification' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l max-turns -d 'Cap on the model turns of each session, where the agent counts them' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l dir -d 'Work in this directory [default: here]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l repo -d 'Work in a clone of this repository: a URL, `user@host:path` or a folder. The branch `selvedge/RUN` stays in the clone, or goes back with --push' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l rev -d 'The branch, tag or commit that the clone begins from [default: what is checked out there]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l format -d 'How to speak' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l junit -d 'JUnit XML: a suite for each attempt, a case for each check' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l sarif -d 'SARIF 2.1.0: failures with their places, for code hosts to annotate a change' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l markdown -d 'A summary in Markdown' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l annotations -d 'Annotations of a code host: `github` (workflow commands) or `gitlab` (a code quality report), to standard output or with `=FILE` to a file; may be given several times' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l attest -d 'An in-toto statement: which tree was verified, by which checks, with what outcome' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l attest-key -d 'Sign the attestation with this Ed25519 key (`selvedge attest keygen` makes one)' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l strict-budget -d 'Refuse to begin where an agent does not tell what a cap needs, instead of saying so'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l worktree -d 'Work in a clone of what is committed here, and give the work back as the branch `selvedge/RUN`: what is checked out here stays as it is'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l push -d 'Push the branch to the repository of --repo'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l clean -d 'Remove the clone once its verified work was given back. Without it `selvedge gc` does'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l no-verify -d 'Verify nothing: the outcome is `unchecked`'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l step-summary -d 'The same summary, added to the page of a GitHub job ($GITHUB_STEP_SUMMARY)'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand demo" -l agent -d 'A real agent instead of the scripted one' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand demo" -l dir -d 'Where to make the demo\'s repository [default: a new temporary directory]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand demo" -l format -d 'How to speak' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand init" -l dir -d 'The repository [default: here]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand init" -l try-timeout -d 'Time for each check that is tried' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand init" -l force -d 'Write over an existing `selvedge.toml`'
complete -c selvedge -n "__fish_selvedge_using_subcommand init" -l no-try -d 'Propose without trying each check once'
complete -c selvedge -n "__fish_selvedge_using_subcommand init" -l dry-run -d 'Print what would be written, and write nothing'
complete -c selvedge -n "__fish_selvedge_using_subcommand init" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand doctor" -l dir -d 'Look at the settings of this directory [default: here]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand doctor" -l json -d 'Print one JSON object'
complete -c selvedge -n "__fish_selvedge_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l check -d 'A command that must exit with 0; may be given several times. Replaces the configured checks' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l verification-timeout -d 'Time for each verification run, afresh [default: 120s]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l sandbox -d 'Sandbox of agents and checks: `auto`, `bubblewrap`, `landlock`, `podman`, `docker` or `none` [default: auto]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l check-env -d 'A variable of yours that checks see besides what builds ordinarily need; may be given several times' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l since -d 'Hold the work against a revision, such as `origin/main`: the checks of its `selvedge.toml` run on it first, and again with its tests where those were changed since' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l expect-test-changes -d 'A change of tests that the work was to make: a glob of files, or a test\'s id as reports name it; may be given several times. What it names counts as it was changed, all other tests are run as they were' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l tier -d 'How far to verify: 1 the checks, 2 a model as judge, 3 a vote; the judges are shown what was changed since REV [default: 1]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l known-failure -d 'A test that may fail if it failed as now before the work began, by the id that its runner prints; may be given several times. Replaces the configured list' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l known-failures -d 'A file that lists such tests, one a line, as `selvedge known-failures` writes it' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l task -d 'What the work was to do, for those who judge it' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l judge -d 'Which configured agent judges; may be given several times' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l max-cost -d 'Cap on the cost of those who judge' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l dir -d 'Work in this directory [default: here]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l format -d 'How to speak; `json` prints the report' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l junit -d 'JUnit XML: a suite for each attempt, a case for each check' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l sarif -d 'SARIF 2.1.0: failures with their places, for code hosts to annotate a change' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l markdown -d 'A summary in Markdown' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l annotations -d 'Annotations of a code host: `github` (workflow commands) or `gitlab` (a code quality report), to standard output or with `=FILE` to a file; may be given several times' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l attest -d 'An in-toto statement: which tree was verified, by which checks, with what outcome' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l attest-key -d 'Sign the attestation with this Ed25519 key (`selvedge attest keygen` makes one)' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l step-summary -d 'The same summary, added to the page of a GitHub job ($GITHUB_STEP_SUMMARY)'
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -l check -d 'A command that must exit with 0; may be given several times. Replaces the configured checks' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -l verification-timeout -d 'Time for each verification run, afresh [default: 120s]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -l sandbox -d 'Sandbox of agents and checks: `auto`, `bubblewrap`, `landlock`, `podman`, `docker` or `none` [default: auto]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -l check-env -d 'A variable of yours that checks see besides what builds ordinarily need; may be given several times' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -l output -d 'Write to this file [default: standard output]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -l dir -d 'The project\'s directory [default: here]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand digest" -l cmd -d 'The command that printed it: where a line of the output repeats it, its own begins' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand digest" -l last-green -d 'What it printed when it last passed: lines that stood there, too, are not what failed' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand digest" -l exit -d 'How it exited. Without it a digest never says that all is well' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand digest" -l tokens -d 'Most tokens (o200k) that the digest may have' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand digest" -l json -d 'Print the records as JSON instead'
complete -c selvedge -n "__fish_selvedge_using_subcommand digest" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -l dir -d 'Only runs in this directory' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -l limit -d 'At most so many' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -l format -d 'How to speak; `jsonl` prints a run a line' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -l open -d 'Only runs that are not over'
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l attempt -d 'One attempt only' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l check -d 'All that one check of an attempt printed: its number in the plan, from 1' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l format -d 'How to speak; `jsonl` prints the events' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l junit -d 'JUnit XML: a suite for each attempt, a case for each check' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l sarif -d 'SARIF 2.1.0: failures with their places, for code hosts to annotate a change' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l markdown -d 'A summary in Markdown' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l annotations -d 'Annotations of a code host: `github` (workflow commands) or `gitlab` (a code quality report), to standard output or with `=FILE` to a file; may be given several times' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l attest -d 'An in-toto statement: which tree was verified, by which checks, with what outcome' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l attest-key -d 'Sign the attestation with this Ed25519 key (`selvedge attest keygen` makes one)' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l diff -d 'What the attempts changed, as a unified diff: of one attempt with --attempt, else of them all'
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l prompt -d 'The whole prompt of each attempt shown'
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l transcript -d 'All that the agent printed in an attempt'
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l step-summary -d 'The same summary, added to the page of a GitHub job ($GITHUB_STEP_SUMMARY)'
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand stats" -l dir -d 'Only runs in this directory' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand stats" -l days -d 'Only runs of so many last days' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand stats" -l format -d 'How to speak; `json` and `jsonl` print one object' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand stats" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand stats" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand stats" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand ui" -l port -d 'The port, on the loopback address alone [default: one that is free]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand ui" -l format -d 'How to speak; `json` and `jsonl` print the link as an object' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand ui" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l format -d 'How to speak' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l junit -d 'JUnit XML: a suite for each attempt, a case for each check' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l sarif -d 'SARIF 2.1.0: failures with their places, for code hosts to annotate a change' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l markdown -d 'A summary in Markdown' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l annotations -d 'Annotations of a code host: `github` (workflow commands) or `gitlab` (a code quality report), to standard output or with `=FILE` to a file; may be given several times' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l attest -d 'An in-toto statement: which tree was verified, by which checks, with what outcome' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l attest-key -d 'Sign the attestation with this Ed25519 key (`selvedge attest keygen` makes one)' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l step-summary -d 'The same summary, added to the page of a GitHub job ($GITHUB_STEP_SUMMARY)'
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand restore" -l attempt -d 'The tree that this attempt left' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand restore" -l tree -d 'Any kept tree of the workspace, by its name: what an earlier restore replaced' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand restore" -l original -d 'The tree that the run began from'
complete -c selvedge -n "__fish_selvedge_using_subcommand restore" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l attempt -d 'Decide on this attempt only: refused when another one is awaiting review' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l tree -d 'Decide on this tree only: refused when another one is awaiting review' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l reason -d 'Why, in your words' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l format -d 'How to speak' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l accept -d 'The work is right: the run ends as verified, by you'
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l reject -d 'The work is not right: the run ends, or tries again with --retry'
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l retry -d 'Give the agent another attempt, with the reason as feedback'
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l file -d 'Read the task from a file (`-` for standard input): text, a task object in JSON, or one in TOML' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l repo -d 'The git repository that a worker clones' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l rev -d 'The revision that the work begins from [default: the repository\'s default branch]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l workspace -d 'A folder in the clone; without --repo a folder of the worker\'s machine' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l deliver -d 'What becomes of the work [default: patch]' -r -f -a "patch\t'A patch, among the task\'s files'
branch\t'The patch, and a branch that is pushed when the work is verified'"
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l agent -d 'Which of the worker\'s agents does the work' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l check -d 'A command that must exit with 0; may be given several times. Replaces the repository\'s own checks' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l expect-test-changes -d 'A change of tests that the task asks for: a glob of files, or a test\'s id as reports name it; may be given several times. What it names counts as it was changed, all other tests are run as they were' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l retries -d 'Corrections after the first attempt, 0 to 5 [default: the hub\'s]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l tier -d 'How far to verify: 1 the checks, 2 a model as judge, 3 a vote' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l labels -d 'What a worker must have to take it' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l priority -d '0 to 9; the higher goes first' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l idempotency-key -d 'Submitted again under the same key, it is the same task' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l format -d 'How to speak' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l watch -d 'Watch it until it is over; the exit code is then that of `run`'
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand watch" -l format -d 'How to speak' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand watch" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand watch" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand cancel" -l reason -d 'Why, in your words' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand cancel" -l format -d 'How to speak' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand cancel" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand cancel" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand cancel" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -l format -d 'How to speak' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -l watch -d 'Watch the new task until it is over; the exit code is then that of `run`'
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand workers" -l format -d 'How to speak; `jsonl` prints a worker a line' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand workers" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand workers" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand workers" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke help" -l format -d 'How to speak' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke help" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke help" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke help" -f -a "add" -d 'Make one. Its secret is shown, or written, this once'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke help" -f -a "revoke" -d 'End one'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -l scope -d 'What it may be used for; may be given several times' -r -f -a "read\t'To look'
submit\t'To submit, cancel, retry and review'
worker\t'To carry out tasks'
admin\t'To make tokens, and all that people do'"
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -l days -d 'When it ends by itself, in days from now' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -l out -d 'Write the secret to this file, readable by you alone, instead of printing it' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -l format -d 'How to speak' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from revoke" -l format -d 'How to speak' -r -f -a "human\t'For people: live on a terminal, plain lines elsewhere'
json\t'One JSON object at the end'
jsonl\t'Every event as a line of JSON, the result as the last one'"
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from revoke" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from revoke" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from help" -f -a "add" -d 'Make one. Its secret is shown, or written, this once'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from help" -f -a "revoke" -d 'End one'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l hub -d 'The hub\'s address, `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l token-file -d 'A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l labels -d 'What this worker can do; a task\'s labels must be among these' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l slots -d 'How many tasks at a time' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l workdir -d 'Where clones, outputs and the outbox are kept [default: `worker` in the state directory]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l name -d 'What the hub calls this worker [default: the host\'s name and a random end, kept in --workdir]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l allow-path -d 'A folder of this machine that tasks may work in, or clone from; may be given several times' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and not __fish_seen_subcommand_from keygen verify help" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and not __fish_seen_subcommand_from keygen verify help" -f -a "keygen" -d 'Make a key to sign attestations with: FILE, and its public half beside it as FILE.pub'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and not __fish_seen_subcommand_from keygen verify help" -f -a "verify" -d 'Check an attestation: its signature, that it is about the files that are here, and that it says that they are verified'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and not __fish_seen_subcommand_from keygen verify help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and __fish_seen_subcommand_from keygen" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and __fish_seen_subcommand_from verify" -l key -d 'The public key of whoever is trusted to attest. Without one only an attestation that nobody signed can be checked, which anybody can have written' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and __fish_seen_subcommand_from help" -f -a "keygen" -d 'Make a key to sign attestations with: FILE, and its public half beside it as FILE.pub'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Check an attestation: its signature, that it is about the files that are here, and that it says that they are verified'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand hook; and not __fish_seen_subcommand_from claude-stop help" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand hook; and not __fish_seen_subcommand_from claude-stop help" -f -a "claude-stop" -d 'Claude Code\'s Stop hook: the agent may stop once the project\'s checks hold'
complete -c selvedge -n "__fish_selvedge_using_subcommand hook; and not __fish_seen_subcommand_from claude-stop help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand hook; and __fish_seen_subcommand_from claude-stop" -l max-blocks -d 'How often an agent is held back since a person last spoke to it. Claude Code itself overrides the ninth time in a row, in silence' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hook; and __fish_seen_subcommand_from claude-stop" -l dir -d 'The project [default: $CLAUDE_PROJECT_DIR, or else the session\'s directory]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand hook; and __fish_seen_subcommand_from claude-stop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "claude-stop" -d 'Claude Code\'s Stop hook: the agent may stop once the project\'s checks hold'
complete -c selvedge -n "__fish_selvedge_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand mcp" -l dir -d 'The project that `verify` looks at [default: here]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand mcp" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand gc" -l failed -d 'Also the clones and copies of runs that ended otherwise; their work is lost unless a branch has it'
complete -c selvedge -n "__fish_selvedge_using_subcommand gc" -l dry-run -d 'Say what would be removed, and remove nothing'
complete -c selvedge -n "__fish_selvedge_using_subcommand gc" -l json -d 'Print one JSON object'
complete -c selvedge -n "__fish_selvedge_using_subcommand gc" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l listen -d 'Where to listen; port 0 takes any that is free, and says which' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l database -d 'An SQLite file, or postgres://USER@HOST/DATABASE for several hubs [default: `hub/hub.db` in the state directory]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l host -d 'A name that clients may ask for it by, besides the address; may be given several times' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l tls-cert -d 'The chain of certificates, in PEM' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l tls-key -d 'Their private key, in PEM' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l admin-token-file -d 'Write the first administrator\'s token to this file instead of printing it' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l name -d 'What the hub calls itself to workers' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l default-max-verification-retries -d 'Attempts beyond the first of a task that says nothing of them' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l default-tier -d 'The tier of verification of a task that says nothing of it' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l default-max-cost -d 'What a task that says nothing of it may cost' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l agents -d 'Agents that a task may name [default: all that are built in]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l checks -d 'Kinds of checks that a task may bring [default: all]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l keep-days -d 'How long journals, files and blobs of tasks stay that are over' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l lease-ttl -d 'How long leases last, in milliseconds' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -l behind-proxy -d 'Speak plain HTTP beyond this machine: a proxy in front does TLS'
complete -c selvedge -n "__fish_selvedge_using_subcommand hub" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and not __fish_seen_subcommand_from show default help" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and not __fish_seen_subcommand_from show default help" -f -a "show" -d 'The values in force, and where each comes from'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and not __fish_seen_subcommand_from show default help" -f -a "default" -d 'The defaults, with every key explained'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and not __fish_seen_subcommand_from show default help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from show" -l dir -d 'The settings of this directory [default: here]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from show" -l json -d 'Print JSON'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from default" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "show" -d 'The values in force, and where each comes from'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "default" -d 'The defaults, with every key explained'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand completions" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand man" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "run" -d 'Run an agent on a task until independent checks pass'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "demo" -d 'See the loop at work on a small repository made for it'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "init" -d 'Find this repository\'s checks, try each once, and write `selvedge.toml`'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "doctor" -d 'Say what is installed, what works, and what is enforced'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "verify" -d 'Run the checks once on work done by anyone. Never retries'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "known-failures" -d 'List the tests that fail now, as known failures for `selvedge.toml` or a file'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "digest" -d 'Digest a tool\'s output from standard input: `cargo test 2>&1 | selvedge digest`'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "list" -d 'List runs, the newest first'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "show" -d 'Tell the whole story of a run'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "stats" -d 'What the loop buys: verified at once, rescued by a retry, not rescued, and the cost of each'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "ui" -d 'Show the runs in a browser: a page on this machine alone, for whoever has the link it prints'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "resume" -d 'Go on with a run that was interrupted'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "restore" -d 'Put the tree of an attempt, or the one before the run, back into the workspace'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "review" -d 'Accept or reject work that waits for a person'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "submit" -d 'Hand a task to a hub'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "watch" -d 'Watch a hub\'s task until it is over'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "cancel" -d 'Stop a hub\'s task for good'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "retry" -d 'Make a new task from one of a hub\'s that is over'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "workers" -d 'List a hub\'s workers'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "tokens" -d 'Make, list and end a hub\'s tokens'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "worker" -d 'Carry out tasks for a hub'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "attest" -d 'Make keys for attestations, and check what was attested'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "hook" -d 'Be an agent\'s hook: it may stop once the checks hold'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "mcp" -d 'Be a tool server for agents (Model Context Protocol over standard input and output)'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "gc" -d 'Remove clones, copies and snapshots that nobody needs any more'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "hub" -d 'Keep a queue of tasks for a team, with their history, for workers to carry out'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "config" -d 'Look at the settings'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "completions" -d 'Print a completion script for a shell'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "man" -d 'Print the manual page'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers tokens worker attest hook mcp gc hub config completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from tokens" -f -a "add" -d 'Make one. Its secret is shown, or written, this once'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from tokens" -f -a "revoke" -d 'End one'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from attest" -f -a "keygen" -d 'Make a key to sign attestations with: FILE, and its public half beside it as FILE.pub'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from attest" -f -a "verify" -d 'Check an attestation: its signature, that it is about the files that are here, and that it says that they are verified'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "claude-stop" -d 'Claude Code\'s Stop hook: the agent may stop once the project\'s checks hold'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "show" -d 'The values in force, and where each comes from'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "default" -d 'The defaults, with every key explained'
