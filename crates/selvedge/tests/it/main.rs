//! Tests of the program as users and scripts see it: each test runs the real binary in a hermetic environment.
//! Agents are small shell scripts or the binary's own scripted agent; nothing else needs to be installed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod acp;
mod action;
mod agents;
mod api;
mod arguments;
mod attest;
mod bad_input;
mod budgets;
mod check_slots;
mod clients;
mod commands;
mod corrected;
mod crashes;
mod crossed;
mod escalation;
mod evidence;
mod examples;
mod executions;
mod exit_codes;
mod exports;
mod fixtures;
mod fleet;
mod formats;
mod hook;
mod hostile;
mod install;
mod interruptions;
mod judges;
mod mcp;
mod own;
mod packaging;
mod plans;
mod plugins;
mod redaction;
mod retries;
mod review;
mod sandbox;
mod setup;
mod since;
mod streams;
mod survivors;
mod syntax;
mod telemetry;
mod tool_calls;
mod tool_folders;
mod trust;
mod unchanged;
mod unrunnable;
mod usage_limits;
mod workspaces;
mod written_files;
