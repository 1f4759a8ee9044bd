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
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "demo" -d 'Show a complete run in a small sample repository'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "init" -d 'Detect this repository\'s checks and write `selvedge.toml`'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "doctor" -d 'Report what is installed, what works, and what is enforced'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "verify" -d 'Run the checks once on existing changes, without an agent'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "known-failures" -d 'List the tests that fail now, as known failures'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "digest" -d 'Condense a tool\'s output from standard input to its failures'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "list" -d 'List runs, newest first'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "show" -d 'Show the details of a run'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "stats" -d 'Show retry statistics and costs'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "ui" -d 'Serve a dashboard of the runs on this machine'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "resume" -d 'Resume an interrupted run'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "restore" -d 'Restore the files after an attempt, or before the run'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "review" -d 'Accept or reject work that is awaiting review'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "submit" -d 'Submit a task to a hub'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "watch" -d 'Follow a hub\'s task until it ends'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "cancel" -d 'Cancel a hub\'s task permanently'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "retry" -d 'Submit a hub\'s finished task again as a new task'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "workers" -d 'List a hub\'s workers'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "projects" -d 'Manage a hub\'s projects: their repositories and limits'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "tokens" -d 'Manage a hub\'s tokens and sessions'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "audit" -d 'Show a hub\'s audit log: who did what'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "schedules" -d 'List, pause, resume and remove a hub\'s schedules'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "webhooks" -d 'Manage a hub\'s webhooks, and list their deliveries'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "worker" -d 'Run tasks for a hub'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "attest" -d 'Generate keys for attestations, and verify attestations'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "install" -d 'Set up the stop gate, tools and a skill in your own agent'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "uninstall" -d 'Remove what `selvedge install` set up'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "hook" -d 'Answer the hooks of an agent that you started: its stop gate'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "mcp" -d 'Run a tool server for agents (Model Context Protocol)'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "gc" -d 'Remove unused clones, copies, snapshots and caches'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "hub" -d 'Run a hub, which queues the tasks of a team for workers'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "config" -d 'Show the settings'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "man" -d 'Print a manual page, or write those of all commands'
complete -c selvedge -n "__fish_selvedge_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l file -d 'Read the task from a file (`-`: standard input): text, or a task object in JSON or TOML (`.toml`); it may be a plan with several `[[subtasks]]`' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l agent -d 'Agent that does the work: `claude`, `codex`, `gemini`, `qwen`, `opencode`, `aider`, `mini`, `ollama`, a configured agent, or `acp:PROGRAM` for a program that supports the Agent Client Protocol [default: claude]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l escalate -d 'Agents for successive attempts; the last one is reused' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l agent-cmd -d 'Use this command as the agent; it reads the prompt from standard input. Shell syntax works as in --check' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l check -d 'Command that must exit with 0. Repeatable; replaces the configured checks' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l verification-timeout -d 'Time limit for each verification [default: 120s]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l sandbox -d 'Sandbox of agents and checks: `auto`, `bubblewrap`, `landlock`, `podman`, `docker` or `none` [default: auto]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l check-env -d 'Environment variable that checks see, in addition to those that builds usually need. Repeatable' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l expect-test-changes -d 'Test changes that the task asks for: a glob of files, or the id of a test as in reports. Repeatable. These tests run as changed, all other tests as they were' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l retries -d 'Retries after the first attempt, 0 to 5 [default: 2]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l tier -d 'Verification tier: 1 checks, 2 a judge, 3 a vote of judges [default: 1]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l judge -d 'Configured agent that judges in tiers 2 and 3. Repeatable' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l best-of -d 'Run the task N times in parallel, 2 to 9, each in a copy of the directory, and select the result that most runs agree on. In tier 3, this replaces the vote of judges' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l timeout -d 'Time limit for each agent session [default: 30m]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l baseline -d 'Run the checks once before the agent begins: `auto`, `on` or `off` [default: auto]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l known-failure -d 'Test that may fail if it failed in the same way before the work began, by the id that its runner prints. Repeatable; replaces the configured list' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l known-failures -d 'File with known failures, one per line, as `selvedge known-failures` writes it' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l max-cost -d 'Maximum cost of the whole run' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l max-tokens -d 'Maximum number of input and output tokens of the whole run' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l max-duration -d 'Maximum time of the whole run in sessions and verification' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l max-turns -d 'Maximum number of model turns of each session, for agents that count them' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l on-usage-limit -d 'When the agent reports that the usage limit of its subscription is reached until some time: `wait` until then, at most `limits.usage_limit_max_wait`, or `stop`: suspend the run, for `selvedge resume` [default: wait]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l dir -d 'Directory to work in [default: current directory]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l repo -d 'Work in a clone of this repository: a URL, `user@host:path` or a directory. The branch `selvedge/RUN` stays in the clone, or is pushed with --push' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l rev -d 'Branch, tag or commit from which the clone begins [default: the commit that is checked out there]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l format -d 'Output format; `jsonl` prints one event per line, and then the result' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l junit -d 'JUnit XML, with a suite for each attempt and a case for each check' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l sarif -d 'SARIF 2.1.0: failures with their locations, for annotations on code hosts' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l markdown -d 'Markdown summary' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l annotations -d 'Annotations for a code host: `github` (workflow commands) or `gitlab` (a code quality report), on standard output, or in a file with `=FILE`. Repeatable' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l attest -d 'In-toto statement: the verified tree, the checks and the outcome' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l attest-key -d 'Sign the attestation with this Ed25519 key (from `selvedge attest keygen`)' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l attempts -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l max-attempts -r
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l require-cost-reporting -d 'Fail if the agent does not report the usage that a budget needs (default: warn)'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l isolated -d 'Work in a clone of the committed files, and create the branch `selvedge/RUN` with the result in this repository; the files checked out here do not change'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l push -d 'Push the branch to the repository of --repo'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l clean -d 'Remove the clone after its verified work was delivered; otherwise `selvedge gc` removes it'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l no-verify -d 'Skip verification: the outcome is `unchecked`'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -l step-summary -d 'Append the Markdown summary to the page of a GitHub job ($GITHUB_STEP_SUMMARY)'
complete -c selvedge -n "__fish_selvedge_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand demo" -l agent -d 'Use this agent instead of the scripted one' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand demo" -l dir -d 'Directory for the sample repository [default: a new temporary directory]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand demo" -l format -d 'Output format; `jsonl` prints one event per line, and then the result' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand init" -l dir -d 'Directory of the repository [default: current directory]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand init" -l check-timeout -d 'Time limit for each check' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand init" -l force -d 'Overwrite an existing `selvedge.toml`'
complete -c selvedge -n "__fish_selvedge_using_subcommand init" -l skip-check-run -d 'Write the detected checks without running them'
complete -c selvedge -n "__fish_selvedge_using_subcommand init" -l dry-run -d 'Print the file instead of writing it'
complete -c selvedge -n "__fish_selvedge_using_subcommand init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand doctor" -l dir -d 'Directory whose settings apply [default: current directory]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand doctor" -l format -d 'Output format; `jsonl` prints one finding per line' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l check -d 'Command that must exit with 0. Repeatable; replaces the configured checks' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l verification-timeout -d 'Time limit for each verification [default: 120s]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l sandbox -d 'Sandbox of agents and checks: `auto`, `bubblewrap`, `landlock`, `podman`, `docker` or `none` [default: auto]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l check-env -d 'Environment variable that checks see, in addition to those that builds usually need. Repeatable' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l base -d 'Compare with a revision, such as `origin/main`: the checks of its `selvedge.toml` run on it first. If tests changed since, the checks run again with the tests of the revision' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l expect-test-changes -d 'Test changes that the task asks for: a glob of files, or the id of a test as in reports. Repeatable. These tests run as changed, all other tests as they were' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l tier -d 'Verification tier: 1 checks, 2 a judge, 3 a vote of judges; judges see the changes since REV [default: 1]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l known-failure -d 'Test that may fail if it failed in the same way before the work began, by the id that its runner prints. Repeatable; replaces the configured list' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l known-failures -d 'File with known failures, one per line, as `selvedge known-failures` writes it' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l task -d 'Description of the task, for judges' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l judge -d 'Configured agent that judges. Repeatable' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l max-cost -d 'Maximum cost of judges' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l dir -d 'Directory to work in [default: current directory]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l format -d 'Output format; `json` prints the report' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l junit -d 'JUnit XML, with a suite for each attempt and a case for each check' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l sarif -d 'SARIF 2.1.0: failures with their locations, for annotations on code hosts' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l markdown -d 'Markdown summary' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l annotations -d 'Annotations for a code host: `github` (workflow commands) or `gitlab` (a code quality report), on standard output, or in a file with `=FILE`. Repeatable' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l attest -d 'In-toto statement: the verified tree, the checks and the outcome' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l attest-key -d 'Sign the attestation with this Ed25519 key (from `selvedge attest keygen`)' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -l step-summary -d 'Append the Markdown summary to the page of a GitHub job ($GITHUB_STEP_SUMMARY)'
complete -c selvedge -n "__fish_selvedge_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -l check -d 'Command that must exit with 0. Repeatable; replaces the configured checks' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -l verification-timeout -d 'Time limit for each verification [default: 120s]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -l sandbox -d 'Sandbox of agents and checks: `auto`, `bubblewrap`, `landlock`, `podman`, `docker` or `none` [default: auto]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -l check-env -d 'Environment variable that checks see, in addition to those that builds usually need. Repeatable' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -l output -d 'Write to this file [default: standard output]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -l dir -d 'Directory of the project [default: current directory]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand known-failures" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand digest" -l cmd -d 'Command that printed the output; its output begins after a line that repeats the command' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand digest" -l passing-output -d 'Output of the last passing run; lines that it also contains are not failures' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand digest" -l exit -d 'Exit code of the command. Without it, the digest never reports success' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand digest" -l tokens -d 'Maximum length of the digest, in tokens (o200k)' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand digest" -l format -d 'Output format; `json` and `jsonl` print the findings as one object' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand digest" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -l dir -d 'Only runs in this directory' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -l limit -d 'Maximum number of runs' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -l format -d 'Output format; `jsonl` prints one run per line' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -l open -d 'Only runs that have not ended'
complete -c selvedge -n "__fish_selvedge_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l attempt -d 'Show only this attempt' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l check -d 'Print the complete output of this check, numbered from 1. Needs --attempt if the run has several' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l format -d 'Output format; `jsonl` prints the events' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l junit -d 'JUnit XML, with a suite for each attempt and a case for each check' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l sarif -d 'SARIF 2.1.0: failures with their locations, for annotations on code hosts' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l markdown -d 'Markdown summary' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l annotations -d 'Annotations for a code host: `github` (workflow commands) or `gitlab` (a code quality report), on standard output, or in a file with `=FILE`. Repeatable' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l attest -d 'In-toto statement: the verified tree, the checks and the outcome' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l attest-key -d 'Sign the attestation with this Ed25519 key (from `selvedge attest keygen`)' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l diff -d 'Print the changes as a unified diff: of one attempt with --attempt, otherwise of the whole run'
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l prompt -d 'Print the complete prompt of each attempt'
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l transcript -d 'Print the complete output of the agent. Needs --attempt if the run has several'
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -l step-summary -d 'Append the Markdown summary to the page of a GitHub job ($GITHUB_STEP_SUMMARY)'
complete -c selvedge -n "__fish_selvedge_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand stats" -l dir -d 'Only runs in this directory' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand stats" -l days -d 'Only runs of the last N days' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand stats" -l format -d 'Output format; `json` and `jsonl` print one object' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand stats" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand stats" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand stats" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand ui" -l port -d 'Port on the loopback address [default: any free port]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand ui" -l format -d 'Output format; `json` and `jsonl` print the link as an object' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand ui" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l format -d 'Output format; `jsonl` prints one event per line, and then the result' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l junit -d 'JUnit XML, with a suite for each attempt and a case for each check' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l sarif -d 'SARIF 2.1.0: failures with their locations, for annotations on code hosts' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l markdown -d 'Markdown summary' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l annotations -d 'Annotations for a code host: `github` (workflow commands) or `gitlab` (a code quality report), on standard output, or in a file with `=FILE`. Repeatable' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l attest -d 'In-toto statement: the verified tree, the checks and the outcome' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l attest-key -d 'Sign the attestation with this Ed25519 key (from `selvedge attest keygen`)' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -l step-summary -d 'Append the Markdown summary to the page of a GitHub job ($GITHUB_STEP_SUMMARY)'
complete -c selvedge -n "__fish_selvedge_using_subcommand resume" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand restore" -l attempt -d 'Restore the files after this attempt' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand restore" -l tree -d 'Restore this snapshot of the workspace, such as the files that an earlier restore replaced' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand restore" -l original -d 'Restore the files from which the run began'
complete -c selvedge -n "__fish_selvedge_using_subcommand restore" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l attempt -d 'Fail if an attempt other than this one is awaiting review' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l tree -d 'Fail if a tree other than this one is awaiting review' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l reason -d 'Reason for the decision' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l format -d 'Output format; `jsonl` prints one event per line, and then the result' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l accept -d 'Accept the work: the run ends as verified, by you'
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l reject -d 'Reject the work: the run ends, or starts another attempt with --retry'
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -l retry -d 'Start another attempt, with the reason as feedback'
complete -c selvedge -n "__fish_selvedge_using_subcommand review" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l file -d 'Read the task from a file (`-`: standard input): text, or a task object in JSON or TOML' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l repo -d 'Git repository that a worker clones' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l rev -d 'Revision from which the work begins [default: the repository\'s default branch]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l workspace -d 'Directory in the clone; without --repo, a directory of the worker\'s machine' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l deliver -d 'Delivery of the work [default: patch]' -r -f -a "patch\t'A patch in the task\'s files'
branch\t'The patch, and a branch that is pushed if the work is verified'"
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l agent -d 'Agent that does the work, as the worker names it' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l check -d 'Command that must exit with 0. Repeatable; replaces the repository\'s own checks' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l expect-test-changes -d 'Test changes that the task asks for: a glob of files, or the id of a test as in reports. Repeatable. These tests run as changed, all other tests as they were' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l retries -d 'Retries after the first attempt, 0 to 5 [default: the hub\'s]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l max-cost -d 'Maximum cost of the whole run' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l max-tokens -d 'Maximum number of input and output tokens of the whole run' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l max-duration -d 'Maximum time of the whole run in sessions and verification' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l tier -d 'Verification tier: 1 checks, 2 a judge, 3 a vote of judges' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l labels -d 'Labels that a worker must have' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l priority -d 'Priority, 0 to 9; higher ones first' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l idempotency-key -d 'Key that identifies the task: submitting it again with the same key creates no new task' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l schedule -d 'Submit the task repeatedly: a cron expression of five fields, in UTC unless it ends with a time zone (`0 3 * * MON-FRI Europe/Berlin`). See `selvedge schedules`' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l schedule-name -d 'Name of the schedule [default: the beginning of the description]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l format -d 'Output format; with --watch, `jsonl` prints one event per line, and then the result' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l attempts -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l max-attempts -r
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -l watch -d 'Follow the task until it ends; the exit code is then that of `run`'
complete -c selvedge -n "__fish_selvedge_using_subcommand submit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand watch" -l format -d 'Output format; `jsonl` prints one event per line, and then the result' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand watch" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand watch" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand cancel" -l reason -d 'Reason for the cancellation' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand cancel" -l format -d 'Output format; `json` and `jsonl` print one object' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand cancel" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand cancel" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand cancel" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -l agent -d 'Only tasks that name this agent' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -l worker -d 'Only tasks that this worker held last' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -l label -d 'Only tasks that require this label' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -l search -d 'Only tasks with this text in their description, repository or workspace' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -l format -d 'Output format; with --watch, `jsonl` prints one event per line, and then the result' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -l dead -d 'Retry all tasks that ended `dead`, because the infrastructure failed too often, and were not retried before'
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -l watch -d 'Follow the new task until it ends; the exit code is then that of `run`'
complete -c selvedge -n "__fish_selvedge_using_subcommand retry" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand workers" -l format -d 'Output format; `jsonl` prints one worker per line' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand workers" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand workers" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand workers" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and not __fish_seen_subcommand_from add show update remove help" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and not __fish_seen_subcommand_from add show update remove help" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and not __fish_seen_subcommand_from add show update remove help" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and not __fish_seen_subcommand_from add show update remove help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and not __fish_seen_subcommand_from add show update remove help" -f -a "add" -d 'Create a project. The name of a deleted project cannot be used again'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and not __fish_seen_subcommand_from add show update remove help" -f -a "show" -d 'Show the limits of a project and the current usage of its submitters'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and not __fish_seen_subcommand_from add show update remove help" -f -a "update" -d 'Change settings of a project; the others stay'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and not __fish_seen_subcommand_from add show update remove help" -f -a "remove" -d 'Delete a project that has no unfinished tasks. Its tokens are revoked, its webhooks and schedules removed'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and not __fish_seen_subcommand_from add show update remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from add" -l repository -d 'Pattern of repositories that tasks may use [default: all]: `*` matches a part between slashes, `**` any number. Repeatable' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from add" -l max-running -d 'Maximum number of running tasks, or `none`' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from add" -l max-queued -d 'Maximum number of queued tasks, or `none`; further tasks are refused' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from add" -l max-cost-usd-per-day -d 'Cost in US dollars, or `none`, from which queued tasks wait for the next day' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from add" -l max-running-per-submitter -d 'Maximum number of running tasks of one submitter, or `none`' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from add" -l max-cost-usd-per-day-per-submitter -d 'Cost in US dollars, or `none`, from which queued tasks of one submitter wait for the next day' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from add" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from add" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from add" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from show" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from show" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from show" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from update" -l repository -d 'Pattern of repositories that tasks may use [default: all]: `*` matches a part between slashes, `**` any number. Repeatable' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from update" -l max-running -d 'Maximum number of running tasks, or `none`' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from update" -l max-queued -d 'Maximum number of queued tasks, or `none`; further tasks are refused' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from update" -l max-cost-usd-per-day -d 'Cost in US dollars, or `none`, from which queued tasks wait for the next day' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from update" -l max-running-per-submitter -d 'Maximum number of running tasks of one submitter, or `none`' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from update" -l max-cost-usd-per-day-per-submitter -d 'Cost in US dollars, or `none`, from which queued tasks of one submitter wait for the next day' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from update" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from update" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from update" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from update" -l any-repository -d 'Allow all repositories'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from update" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from remove" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from remove" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from remove" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from help" -f -a "add" -d 'Create a project. The name of a deleted project cannot be used again'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show the limits of a project and the current usage of its submitters'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from help" -f -a "update" -d 'Change settings of a project; the others stay'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Delete a project that has no unfinished tasks. Its tokens are revoked, its webhooks and schedules removed'
complete -c selvedge -n "__fish_selvedge_using_subcommand projects; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke sessions end-session help" -l project -d 'List the tokens of this project; for administrators of the project `default`' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke sessions end-session help" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke sessions end-session help" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke sessions end-session help" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke sessions end-session help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke sessions end-session help" -f -a "add" -d 'Create a token. Its secret is printed or written only once'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke sessions end-session help" -f -a "revoke" -d 'Revoke a token. Its sessions, event streams and workers\' connections end at once'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke sessions end-session help" -f -a "sessions" -d 'List the sessions of the dashboard'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke sessions end-session help" -f -a "end-session" -d 'End a session of the dashboard'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and not __fish_seen_subcommand_from add revoke sessions end-session help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -l scope -d 'Permissions of the token. Repeatable' -r -f -a "read\t'Read tasks and workers'
submit\t'Submit, cancel, retry and review tasks'
worker\t'Run tasks'
admin\t'Manage tokens, and everything that `submit` permits'"
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -l project -d 'Project of the token [default: the project of your own token]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -l days -d 'Number of days until the token expires' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -l out -d 'Write the secret to this new file, readable only by you, instead of printing it' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from revoke" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from revoke" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from revoke" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from sessions" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from sessions" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from sessions" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from sessions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from end-session" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from end-session" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from end-session" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from end-session" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from help" -f -a "add" -d 'Create a token. Its secret is printed or written only once'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from help" -f -a "revoke" -d 'Revoke a token. Its sessions, event streams and workers\' connections end at once'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from help" -f -a "sessions" -d 'List the sessions of the dashboard'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from help" -f -a "end-session" -d 'End a session of the dashboard'
complete -c selvedge -n "__fish_selvedge_using_subcommand tokens; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand audit" -l after -d 'Entries after this number, oldest first' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand audit" -l actor -d 'Entries of the token with this name' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand audit" -l action -d 'Entries with this action, such as `task.cancel`' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand audit" -l subject -d 'Entries about the task, token, session, webhook or schedule with this id' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand audit" -l limit -d 'Maximum number of entries [default: 50; `jsonl`: all]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand audit" -l format -d 'Output format; `jsonl` prints all entries, oldest first, one per line' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand audit" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand audit" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand audit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and not __fish_seen_subcommand_from pause resume remove help" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and not __fish_seen_subcommand_from pause resume remove help" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and not __fish_seen_subcommand_from pause resume remove help" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and not __fish_seen_subcommand_from pause resume remove help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and not __fish_seen_subcommand_from pause resume remove help" -f -a "pause" -d 'Submit no more tasks until the schedule is resumed'
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and not __fish_seen_subcommand_from pause resume remove help" -f -a "resume" -d 'Submit tasks again, beginning with the next due time'
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and not __fish_seen_subcommand_from pause resume remove help" -f -a "remove" -d 'Remove a schedule. Tasks that it has submitted stay'
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and not __fish_seen_subcommand_from pause resume remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from pause" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from pause" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from pause" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from resume" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from resume" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from resume" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from remove" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from remove" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from remove" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from help" -f -a "pause" -d 'Submit no more tasks until the schedule is resumed'
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from help" -f -a "resume" -d 'Submit tasks again, beginning with the next due time'
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove a schedule. Tasks that it has submitted stay'
complete -c selvedge -n "__fish_selvedge_using_subcommand schedules; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and not __fish_seen_subcommand_from add remove deliveries help" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and not __fish_seen_subcommand_from add remove deliveries help" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and not __fish_seen_subcommand_from add remove deliveries help" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and not __fish_seen_subcommand_from add remove deliveries help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and not __fish_seen_subcommand_from add remove deliveries help" -f -a "add" -d 'Create a webhook. The secret of its signatures is printed only once'
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and not __fish_seen_subcommand_from add remove deliveries help" -f -a "remove" -d 'Remove a webhook. What it has not delivered yet is not sent'
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and not __fish_seen_subcommand_from add remove deliveries help" -f -a "deliveries" -d 'List the latest deliveries of a webhook, newest first'
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and not __fish_seen_subcommand_from add remove deliveries help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from add" -l event -d 'Events to send [default: all]. Repeatable' -r -f -a "task.finished\t'A task ended with an outcome, or was cancelled'
task.needs_review\t'A task needs review'
task.dead\t'A task was given up after infrastructure failures'"
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from add" -l body -d 'Form of the requests' -r -f -a "json\t'JSON for programs'
slack\t'A message for an incoming webhook of Slack'
teams\t'An Adaptive Card for a workflow of Microsoft Teams'"
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from add" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from add" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from add" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from remove" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from remove" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from remove" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from deliveries" -l limit -d 'Maximum number of deliveries' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from deliveries" -l format -d 'Output format' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from deliveries" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from deliveries" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from deliveries" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from help" -f -a "add" -d 'Create a webhook. The secret of its signatures is printed only once'
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove a webhook. What it has not delivered yet is not sent'
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from help" -f -a "deliveries" -d 'List the latest deliveries of a webhook, newest first'
complete -c selvedge -n "__fish_selvedge_using_subcommand webhooks; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l hub -d 'Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l token-file -d 'File with the token for the hub [default: the token in $SELVEDGE_TOKEN]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l labels -d 'Labels of this worker; it only gets tasks whose labels are among these' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l slots -d 'Maximum number of tasks at the same time' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l workdir -d 'Directory for clones, outputs and the outbox [default: `worker` in the state directory]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l name -d 'Name of this worker on the hub [default: the host name and a random suffix, stored in --workdir]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l allow-path -d 'Directory of this machine that tasks may use as their workspace, or clone. Repeatable' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l idle-timeout -d 'Exit after this time without a task' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l log-format -d 'Format of the log on standard error. SELVEDGE_LOG sets its levels: `debug`, or `warn,selvedge=info`' -r -f -a "text\t'Lines for people'
json\t'One JSON object per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l config -d 'Read options from this TOML file. Flags replace variables, and variables replace keys of the file' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l once -d 'Take one task regardless of --slots, and exit once it has ended'
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l ignore-outcome -d 'Exit with 0 regardless of the outcome of the task, even if there was none: for job controllers, which count other codes as failures of the job'
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -l print-config -d 'Print the options in effect and where each comes from, and exit'
complete -c selvedge -n "__fish_selvedge_using_subcommand worker" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and not __fish_seen_subcommand_from keygen verify help" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and not __fish_seen_subcommand_from keygen verify help" -f -a "keygen" -d 'Generate a key pair to sign attestations: the private key in FILE, the public key in FILE.pub'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and not __fish_seen_subcommand_from keygen verify help" -f -a "verify" -d 'Verify an attestation: its signature, and that it states that the files of this directory are verified'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and not __fish_seen_subcommand_from keygen verify help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and __fish_seen_subcommand_from keygen" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and __fish_seen_subcommand_from verify" -l key -d 'Public key of a trusted signer. Without a key, only unsigned attestations can be verified, which anyone can create' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and __fish_seen_subcommand_from help" -f -a "keygen" -d 'Generate a key pair to sign attestations: the private key in FILE, the public key in FILE.pub'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Verify an attestation: its signature, and that it states that the files of this directory are verified'
complete -c selvedge -n "__fish_selvedge_using_subcommand attest; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand install" -l dir -d 'Directory to use instead of the repository of the current directory' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand install" -l user -d 'Use your own settings, for all directories, instead of the repository\'s'
complete -c selvedge -n "__fish_selvedge_using_subcommand install" -l dry-run -d 'Print the changes without making them'
complete -c selvedge -n "__fish_selvedge_using_subcommand install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand uninstall" -l dir -d 'Directory to use instead of the repository of the current directory' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand uninstall" -l user -d 'Use your own settings, for all directories, instead of the repository\'s'
complete -c selvedge -n "__fish_selvedge_using_subcommand uninstall" -l dry-run -d 'Print the changes without making them'
complete -c selvedge -n "__fish_selvedge_using_subcommand uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand hook" -l max-refusals -d 'Maximum number of times that the agent is blocked from finishing after each prompt' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hook" -l dir -d 'Directory of the project [default: the directory of the agent\'s session]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand hook" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand mcp" -l dir -d 'Directory of the project that tools work in [default: current directory]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand mcp" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand gc" -l format -d 'Output format; `json` and `jsonl` print one object' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand gc" -l failed -d 'Also remove clones and copies of runs that are not verified; their work is lost unless it is on a branch'
complete -c selvedge -n "__fish_selvedge_using_subcommand gc" -l dry-run -d 'Show what would be removed, without removing it'
complete -c selvedge -n "__fish_selvedge_using_subcommand gc" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l listen -d 'Address to listen on; port 0 selects any free port, which is printed' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l database -d 'SQLite file, or postgres://USER@HOST/DATABASE for several hubs [default: `hub/hub.db` in the state directory]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l database-url-file -d 'File with the database URL, which may contain the password. It is read at the start' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l host -d 'Host name that clients may use, in addition to the address. Repeatable' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l public-url -d 'URL by which users reach the hub, for links in webhook messages and the sign-in with --oidc-issuer [default: the first --host, or the address]' -r -f
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l tls-cert -d 'Certificate chain, in PEM' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l tls-key -d 'Private key of the certificate, in PEM' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l admin-token-file -d 'Write the first administrator token to this file instead of printing it. An existing file is not overwritten' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l name -d 'Name of the hub, shown to workers' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l default-max-verification-retries -d 'Retries of tasks that do not set a number, 0 to 5' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l default-tier -d 'Verification tier of tasks that do not set one, 1 to 3' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l default-max-cost -d 'Maximum cost of a task; tasks may only set a lower one' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l agents -d 'Agents that tasks may request [default: all built-in agents]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l checks -d 'Types of checks that tasks may contain [default: all]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l retention-days -d 'How long journals, files and blobs of ended tasks are kept' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l audit-retention-days -d 'How long entries of the audit log are kept; at least 30 days' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l session-idle-hours -d 'How long a session of the dashboard lasts without use' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l session-hours -d 'How long a session of the dashboard lasts at most' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l oidc-issuer -d 'Let people sign in to the dashboard at this OpenID Connect provider. Needs --public-url' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l oidc-client-id -d 'Client id that the provider gave the hub' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l oidc-client-secret-file -d 'File with the client secret. Several hubs on a database need the same one' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l oidc-scopes -d 'Scope to request in addition to `openid`. Repeatable [default: profile and email]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l oidc-groups-claim -d 'Claim of the ID token with the groups of a person; dots lead into objects' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l oidc-roles-viewer -d 'Group that may read everything. Repeatable, as are those of the other roles' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l oidc-roles-submitter -d 'Group that may submit, cancel, retry and review tasks' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l oidc-roles-reviewer -d 'Group that may review tasks; includes the rights of submitters' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l oidc-roles-admin -d 'Group of administrators' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l oidc-default-role -d 'Role of people whose groups have none [default: they may not sign in]' -r -f -a "viewer\t''
submitter\t''
reviewer\t''
admin\t''"
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l oidc-session-hours -d 'How long a session of a person lasts at most' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l s3-bucket -d 'Store files of tasks in this bucket of an S3-compatible object store instead of the database' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l s3-endpoint -d 'URL of the object store, without the bucket [default: Amazon S3]' -r -f
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l s3-region -d 'Region of the bucket [default: AWS_REGION, or else us-east-1]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l s3-prefix -d 'Prefix of the keys of all objects: several hubs can share a bucket' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l s3-addressing -d 'Whether requests name the bucket in the path or in the host name [default: the path with --s3-endpoint, or else the host name]' -r -f -a "path\t'`https://s3.example/BUCKET/KEY`'
virtual\t'`https://BUCKET.s3.example/KEY`'"
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l s3-credentials-file -d 'File with the credentials, as of the AWS command line: `aws_access_key_id` and `aws_secret_access_key` in the section `[default]`. It is read again while the hub runs [default: the AWS variables, or on Amazon the role of the machine]' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l webhook-retry -d 'Pause after the first failed try of a webhook, in milliseconds; the next ones are longer' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l infra-backoff -d 'Delay after the first infrastructure failure of a task, and first quarantine of a worker that fails again and again, in seconds; doubled with each further one' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l infra-retries -d 'How often a task is assigned again after infrastructure failures and lost leases, 0 to 20' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l lease-ttl -d 'Duration of leases, in milliseconds' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l log-format -d 'Format of the log on standard error. SELVEDGE_LOG sets its levels: `debug`, or `info,selvedge_hub=debug`' -r -f -a "text\t'Lines for people'
json\t'One JSON object per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l config -d 'Read options from this TOML file. Flags replace variables, and variables replace keys of the file' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l behind-proxy -d 'Serve plain HTTP to other machines, behind a proxy that terminates TLS'
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l forbid-self-review -d 'Refuse reviews of a task by its own submitter'
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l webhooks-allow-private -d 'Let webhooks send requests to private addresses, and without encryption'
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -l print-config -d 'Print the options in effect and where each comes from, and exit'
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -f -a "recover-admin" -d 'Create an administrator\'s token directly in the database'
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and not __fish_seen_subcommand_from recover-admin help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and __fish_seen_subcommand_from recover-admin" -l out -d 'Write the token to this new file, readable only by you, instead of printing it' -r -F
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and __fish_seen_subcommand_from recover-admin" -l database -d 'SQLite file, or postgres://USER@HOST/DATABASE for several hubs [default: `hub/hub.db` in the state directory]' -r
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and __fish_seen_subcommand_from recover-admin" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and __fish_seen_subcommand_from help" -f -a "recover-admin" -d 'Create an administrator\'s token directly in the database'
complete -c selvedge -n "__fish_selvedge_using_subcommand hub; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and not __fish_seen_subcommand_from show default help" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and not __fish_seen_subcommand_from show default help" -f -a "show" -d 'Print the effective settings and their origins'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and not __fish_seen_subcommand_from show default help" -f -a "default" -d 'Print the default settings, with a description of every key'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and not __fish_seen_subcommand_from show default help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from show" -l dir -d 'Directory whose settings are shown [default: current directory]' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from show" -l format -d 'Output format; `json` and `jsonl` print one object' -r -f -a "human\t'Text for people'
json\t'One JSON value'
jsonl\t'One JSON value per line'"
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from default" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print the effective settings and their origins'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "default" -d 'Print the default settings, with a description of every key'
complete -c selvedge -n "__fish_selvedge_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand completions" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand man" -l dir -d 'Write the pages of all commands to this directory; it is created if it is missing' -r -f -a "(__fish_complete_directories)"
complete -c selvedge -n "__fish_selvedge_using_subcommand man" -s h -l help -d 'Print help'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "run" -d 'Run an agent on a task until independent checks pass'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "demo" -d 'Show a complete run in a small sample repository'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "init" -d 'Detect this repository\'s checks and write `selvedge.toml`'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "doctor" -d 'Report what is installed, what works, and what is enforced'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "verify" -d 'Run the checks once on existing changes, without an agent'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "known-failures" -d 'List the tests that fail now, as known failures'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "digest" -d 'Condense a tool\'s output from standard input to its failures'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "list" -d 'List runs, newest first'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "show" -d 'Show the details of a run'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "stats" -d 'Show retry statistics and costs'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "ui" -d 'Serve a dashboard of the runs on this machine'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "resume" -d 'Resume an interrupted run'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "restore" -d 'Restore the files after an attempt, or before the run'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "review" -d 'Accept or reject work that is awaiting review'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "submit" -d 'Submit a task to a hub'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "watch" -d 'Follow a hub\'s task until it ends'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "cancel" -d 'Cancel a hub\'s task permanently'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "retry" -d 'Submit a hub\'s finished task again as a new task'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "workers" -d 'List a hub\'s workers'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "projects" -d 'Manage a hub\'s projects: their repositories and limits'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "tokens" -d 'Manage a hub\'s tokens and sessions'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "audit" -d 'Show a hub\'s audit log: who did what'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "schedules" -d 'List, pause, resume and remove a hub\'s schedules'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "webhooks" -d 'Manage a hub\'s webhooks, and list their deliveries'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "worker" -d 'Run tasks for a hub'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "attest" -d 'Generate keys for attestations, and verify attestations'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "install" -d 'Set up the stop gate, tools and a skill in your own agent'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "uninstall" -d 'Remove what `selvedge install` set up'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "hook" -d 'Answer the hooks of an agent that you started: its stop gate'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "mcp" -d 'Run a tool server for agents (Model Context Protocol)'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "gc" -d 'Remove unused clones, copies, snapshots and caches'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "hub" -d 'Run a hub, which queues the tasks of a team for workers'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "config" -d 'Show the settings'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "completions" -d 'Print a completion script for a shell'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "man" -d 'Print a manual page, or write those of all commands'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and not __fish_seen_subcommand_from run demo init doctor verify known-failures digest list show stats ui resume restore review submit watch cancel retry workers projects tokens audit schedules webhooks worker attest install uninstall hook mcp gc hub config completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from projects" -f -a "add" -d 'Create a project. The name of a deleted project cannot be used again'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from projects" -f -a "show" -d 'Show the limits of a project and the current usage of its submitters'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from projects" -f -a "update" -d 'Change settings of a project; the others stay'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from projects" -f -a "remove" -d 'Delete a project that has no unfinished tasks. Its tokens are revoked, its webhooks and schedules removed'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from tokens" -f -a "add" -d 'Create a token. Its secret is printed or written only once'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from tokens" -f -a "revoke" -d 'Revoke a token. Its sessions, event streams and workers\' connections end at once'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from tokens" -f -a "sessions" -d 'List the sessions of the dashboard'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from tokens" -f -a "end-session" -d 'End a session of the dashboard'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from schedules" -f -a "pause" -d 'Submit no more tasks until the schedule is resumed'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from schedules" -f -a "resume" -d 'Submit tasks again, beginning with the next due time'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from schedules" -f -a "remove" -d 'Remove a schedule. Tasks that it has submitted stay'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from webhooks" -f -a "add" -d 'Create a webhook. The secret of its signatures is printed only once'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from webhooks" -f -a "remove" -d 'Remove a webhook. What it has not delivered yet is not sent'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from webhooks" -f -a "deliveries" -d 'List the latest deliveries of a webhook, newest first'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from attest" -f -a "keygen" -d 'Generate a key pair to sign attestations: the private key in FILE, the public key in FILE.pub'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from attest" -f -a "verify" -d 'Verify an attestation: its signature, and that it states that the files of this directory are verified'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from hub" -f -a "recover-admin" -d 'Create an administrator\'s token directly in the database'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "show" -d 'Print the effective settings and their origins'
complete -c selvedge -n "__fish_selvedge_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "default" -d 'Print the default settings, with a description of every key'
