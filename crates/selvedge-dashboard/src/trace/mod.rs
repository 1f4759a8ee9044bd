//! The trace of a session: its messages and tool calls with input, result, time and tokens, read leniently from
//! the transcript of whatever agent wrote it. For display only, never evidence; the raw transcript is linked.

mod records;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use selvedge_core::model::ToolCall;
use selvedge_protocol::ProgressEvent;
use serde_json::Value;

use crate::text::single_line;

/// Maximum length of a text, in characters.
const MAX_TEXT_CHARS: usize = 4_000;
/// Maximum number of steps that are read; further records are only counted.
const MAX_STEPS: usize = 20_000;

/// Kind of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceKind {
    /// The model wrote a text.
    Message,
    /// The model's reasoning.
    Reasoning,
    /// A tool call.
    Tool,
    /// A text that is not a record, or an error of the agent.
    Printed,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceStep {
    /// Its kind.
    pub kind: TraceKind,
    /// Number of the model's turn, counted from 1; 0 before the first.
    pub turn: u32,
    /// The tool's name; empty for other kinds.
    pub name: String,
    /// The message, or the subject of a tool call in a few words.
    pub text: String,
    /// The complete arguments of a tool call.
    pub input: Option<String>,
    /// The result of a tool call.
    pub output: Option<String>,
    /// Whether it failed.
    pub is_error: bool,
    /// Whether it is a tool call without a result yet.
    pub is_open: bool,
    /// When it began and ended, in milliseconds since the start of the session.
    pub time: Option<(u64, u64)>,
    /// Input and output tokens of the model call that produced it; on the first step of the call only.
    pub tokens: Option<(u64, u64)>,
    /// Its cost in dollars, if the agent reports it by call.
    pub cost: Option<f64>,
}

/// A session's steps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// The steps, in order.
    pub steps: Vec<TraceStep>,
    /// Number of records without a step.
    pub skipped: usize,
    /// Number of turns of the model.
    pub turns: u32,
    /// Time of the last record, in milliseconds since the start of the session.
    pub duration_ms: Option<u64>,
}

impl Trace {
    /// Reads a transcript; the first line is incomplete unless it is from the start.
    pub fn parse(bytes: &[u8], from_start: bool) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut builder = TraceBuilder::default();
        for line in text.lines().skip(usize::from(!from_start)) {
            builder.read_line(line);
        }
        builder.finish()
    }

    /// The trace of a running session, from the last events of its worker.
    pub fn from_events(events: &[ProgressEvent]) -> Self {
        let mut builder = TraceBuilder::default();
        for event in events {
            match event {
                ProgressEvent::Token { text } => {
                    builder.add_text(TraceKind::Message, text, true, None);
                }
                ProgressEvent::Tool {
                    name,
                    subject,
                    ok: None,
                } => {
                    let mut step = TraceStep::new(TraceKind::Tool, &single_line(subject, 160));
                    step.name = name.chars().take(80).collect();
                    step.is_open = true;
                    if let Some(index) = builder.push(step, None) {
                        builder.open.insert(name.clone(), index);
                    }
                }
                ProgressEvent::Tool {
                    name, ok: Some(ok), ..
                } => builder.end_tool(name, None, !ok, None),
                ProgressEvent::Status { message } => builder.add_printed(message),
                _ => {}
            }
        }
        builder.finish()
    }

    /// Adds the times of tool calls that Selvedge recorded itself, for agents that report none. The calls are in the
    /// order of their ends; the oldest may be missing.
    pub fn add_times(&mut self, calls: &[ToolCall]) {
        let tools = self.steps.iter_mut().rev();
        let mut tools = tools.filter(|step| step.kind == TraceKind::Tool && !step.is_open);
        for call in calls.iter().rev() {
            let Some(step) = tools.next() else { break };
            if !call
                .name
                .starts_with(step.name.get(..20).unwrap_or(&step.name))
            {
                break;
            }
            if let (None, Some(duration)) = (step.time, call.duration_ms) {
                let start = call.started_ms;
                step.time = start.map(|start| (start, start.saturating_add(duration)));
            }
        }
        let ends = self.steps.iter().filter_map(|step| step.time);
        let last = ends.map(|(_, end)| end).max();
        self.duration_ms = self.duration_ms.max(last);
    }

    /// Number of tool calls, and of those that failed.
    pub fn tool_calls(&self) -> (usize, usize) {
        let tools = self.steps.iter().filter(|it| it.kind == TraceKind::Tool);
        let (all, failed): (Vec<bool>, Vec<bool>) =
            tools.map(|it| it.is_error).partition(|is_error| !is_error);
        (all.len() + failed.len(), failed.len())
    }
}

impl TraceStep {
    fn new(kind: TraceKind, text: &str) -> Self {
        Self {
            kind,
            turn: 0,
            name: String::new(),
            text: cut(text),
            input: None,
            output: None,
            is_error: false,
            is_open: false,
            time: None,
            tokens: None,
            cost: None,
        }
    }
}

fn cut(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// Collects the steps of a transcript.
#[derive(Default)]
struct TraceBuilder {
    trace: Trace,
    /// Tool calls without a result, by their ids.
    open: HashMap<String, usize>,
    /// Id of the model's last message; records of the same message belong to one turn.
    message: Option<String>,
    /// Whether the last step is a text that the next record may continue.
    continues: bool,
    /// Time of the first record, in milliseconds since 1970.
    begun: Option<i64>,
}

impl TraceBuilder {
    fn read_line(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        match serde_json::from_str::<Value>(line) {
            Ok(record) if record.is_object() => {
                let before = (self.trace.steps.len(), self.open.len());
                let known = self.read_record(&record);
                let after = (self.trace.steps.len(), self.open.len());
                self.trace.skipped += usize::from(!known && before == after);
            }
            _ => self.add_printed(line),
        }
    }

    /// Consecutive lines of plain text are one step.
    fn add_printed(&mut self, line: &str) {
        if let Some(last) = self.trace.steps.last_mut()
            && last.kind == TraceKind::Printed
            && last.text.len() < MAX_TEXT_CHARS
        {
            last.text.push('\n');
            last.text.push_str(line.trim_end());
            return;
        }
        self.push(TraceStep::new(TraceKind::Printed, line), None);
    }

    fn push(&mut self, mut step: TraceStep, at: Option<i64>) -> Option<usize> {
        if self.trace.steps.len() >= MAX_STEPS {
            self.trace.skipped += 1;
            return None;
        }
        step.turn = self.trace.turns;
        if let Some(at) = self.relative(at) {
            step.time = step.time.or(Some((at, at)));
        }
        self.continues = false;
        self.trace.steps.push(step);
        Some(self.trace.steps.len() - 1)
    }

    /// A text of the model.
    fn add_text(&mut self, kind: TraceKind, text: &str, is_delta: bool, at: Option<i64>) {
        if let Some(last) = self.trace.steps.last_mut()
            && self.continues
            && is_delta
            && last.kind == kind
        {
            if last.text.len() < MAX_TEXT_CHARS {
                last.text.push_str(text);
            }
            return;
        }
        if text.trim().is_empty() {
            return;
        }
        let mut step = TraceStep::new(kind, text);
        if is_delta {
            // The end of a part separates it from the next one.
            text.trim_start().clone_into(&mut step.text);
        }
        self.push(step, at);
        self.continues = is_delta;
    }

    /// A tool call; the same call may be reported several times.
    fn add_tool(&mut self, id: &str, name: &str, input: Option<&Value>, at: Option<i64>) {
        if self.open.contains_key(id) {
            return;
        }
        let mut step = TraceStep::new(TraceKind::Tool, &records::subject(input));
        step.name = name.chars().take(80).collect();
        step.input = input.and_then(records::arguments).map(|text| cut(&text));
        step.is_open = true;
        if let Some(index) = self.push(step, at) {
            self.open.insert(id.to_owned(), index);
        }
    }

    /// The result of a tool call.
    fn end_tool(&mut self, id: &str, output: Option<&str>, is_error: bool, at: Option<i64>) {
        let at = self.relative(at);
        let Some(step) = self.open.remove(id) else {
            return;
        };
        let Some(step) = self.trace.steps.get_mut(step) else {
            return;
        };
        step.is_open = false;
        step.is_error = is_error;
        step.output = output.map(cut).filter(|text| !text.is_empty());
        if let (Some((begun, _)), Some(at)) = (step.time, at) {
            step.time = Some((begun, at.max(begun)));
        }
    }

    /// Tokens and cost of a model call, shown on its first step.
    fn add_usage(&mut self, tokens: Option<(u64, u64)>, cost: Option<f64>) {
        let turn = self.trace.turns;
        let mut steps = self.trace.steps.iter_mut();
        if let Some(step) = steps.find(|step| step.turn == turn) {
            step.tokens = tokens.or(step.tokens);
            step.cost = cost.or(step.cost);
        }
    }

    /// Milliseconds since the first record with a time.
    fn relative(&mut self, at: Option<i64>) -> Option<u64> {
        let at = at?;
        let begun = *self.begun.get_or_insert(at);
        let relative = u64::try_from(at.saturating_sub(begun)).unwrap_or(0);
        self.trace.duration_ms = self.trace.duration_ms.max(Some(relative));
        Some(relative)
    }

    fn finish(self) -> Trace {
        self.trace
    }
}
