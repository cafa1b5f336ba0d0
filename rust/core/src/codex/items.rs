//! The items of the prompt so far, and what the lines of a rollout do to them.

use super::item::{Item, Speaker};
use super::usage::billed;
use crate::error::Error;
use crate::json::Json;
use crate::session::names::Names;
use crate::session::value::{last, text};
use crate::session::worded::worded;
use crate::session::{Billed, Charge, Counts, Fault, MOST, Part, Place, Prompt, Records, Span, Time, Writer};

/// Tokens below which a number is no context window: system text and tools of an agent have more.
const SMALLEST_WINDOW: u64 = 1_000;

/// The items of a rollout's prompt.
///
/// # Examples
///
/// ```
/// use trimtab_core::codex::Items;
/// use trimtab_core::session::{Lines, Place};
///
/// let mut lines = Lines::of(Items::new(false));
/// let text = r#"{"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "hi"}]}}
/// {"type": "turn_context", "payload": {"model": "gpt-5"}}"#;
/// lines.take(text.as_bytes(), Place { line: 1, offset: 0 }, true)?;
/// let prompt = lines.prompt()?;
/// assert_eq!((prompt.messages(), prompt.model.as_slice()), (1, b"gpt-5".as_slice()));
/// # Ok::<(), trimtab_core::error::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Items {
    pub(super) whole: bool,
    pub(super) names: Names,
    /// Items that are not in the file as they are.
    pub(super) held: String,
    pub(super) list: Vec<Item>,
    /// Positions of the messages that the user wrote.
    pub(super) turns: Vec<usize>,
    pub(super) charges: Vec<Charge>,
    /// Which of the charges are of prompts that still stand, in order.
    pub(super) charged_prompts: Vec<usize>,
    pub(super) compactions: Vec<usize>,
    pub(super) contexts: Vec<Vec<usize>>,
    /// Number of items at the last usage; the next response begins behind it.
    pub(super) charged: usize,
    /// Whether the items are a real prompt, without compacted ones.
    pub(super) is_prompt: bool,
    pub(super) left_out: Counts,
    /// Digest of the session's running total, which shows a repeated usage.
    total: Option<u128>,
    model: Vec<u8>,
    system: Vec<u8>,
    window: Option<u64>,
    faults: Vec<Fault>,
}

impl Items {
    /// No items; `whole` keeps those that a compaction replaced.
    #[must_use]
    pub fn new(whole: bool) -> Self {
        Self { whole, is_prompt: true, ..Self::default() }
    }

    /// Does what a line says; false if no message holds it.
    fn follow(&mut self, line: &Line<'_, '_>, offset: Option<u64>) -> Result<bool, Error> {
        let payload = &line.payload;
        match (&*line.kind, &*line.inner) {
            (b"response_item", _) => {
                let Some(item) = Item::of(payload, |value| Span::of(value, offset, &mut self.held)) else {
                    return Ok(false);
                };
                self.turns.extend(item.is_turn.then_some(self.list.len()));
                self.list.push(item);
            }
            (b"compacted", _) => self.compact(payload, offset)?,
            (b"event_msg", b"token_count") => {
                let info = last(payload, b"info");
                let of_info = |name: &[u8]| info.and_then(|info| last(&info, name));
                self.name_window(of_info(b"model_context_window"));
                self.charge(of_info(b"last_token_usage"), of_info(b"total_token_usage"), line.time.as_deref());
            }
            (b"event_msg", b"task_started") => self.name_window(last(payload, b"model_context_window")),
            (b"event_msg", b"thread_rolled_back") => self.roll_back(last(payload, b"num_turns"))?,
            (b"turn_context", _) => {
                let model = text(last(payload, b"model")).filter(|model| !model.is_empty());
                self.model = model.map_or_else(|| std::mem::take(&mut self.model), Vec::from);
            }
            (b"session_meta", _) if self.system.is_empty() => self.system = system(payload),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Notes the last window that can be one.
    fn name_window(&mut self, tokens: Option<Json<'_, '_>>) {
        let named = tokens.and_then(|tokens| tokens.integer());
        self.window = named.filter(|tokens| (SMALLEST_WINDOW..=MOST).contains(tokens)).or(self.window);
    }

    /// Notes the usage of the last response, with the position of its prompt's end.
    fn charge(&mut self, usage: Option<Json<'_, '_>>, total: Option<Json<'_, '_>>, time: Option<&[u8]>) {
        let total = total.filter(|total| !total.is_null()).map(|total| total.digest());
        let Some(usage) = usage.filter(Json::is_object).filter(|_| total.is_none() || total != self.total) else {
            return;
        };
        self.total = total;
        if let Some(before) = self.response() {
            let billed = billed(&usage);
            if !matches!(billed, Billed::Tokens(tokens) if tokens.prompt() == 0) {
                self.charged_prompts.extend(self.is_prompt.then_some(self.charges.len()));
                self.charges.push(Charge {
                    before,
                    compactions: self.compactions.len(),
                    is_prompt: self.is_prompt,
                    model: self.model.clone(),
                    time: time.map(Time::of),
                    billed,
                });
            }
        }
        self.charged = self.list.len();
    }

    /// The position of the response that the last usage belongs to; `None` if it has no items.
    ///
    /// Usage follows the results of the response's calls. An aborted response without usage may precede it, with a user
    /// message in between: so the nearest item that no model wrote is searched backwards.
    fn response(&self) -> Option<usize> {
        let new = &self.list[self.charged..];
        let end = new.iter().rposition(|item| !item.is_output).map_or(0, |at| at + 1);
        let own = new[..end].iter().rev().take_while(|item| !item.is_output && item.speaker == Speaker::Model).count();
        (own > 0).then_some(self.charged + end - own)
    }
}

impl Records for Items {
    fn add(&mut self, value: &Json<'_, '_>, place: Place, offset: Option<u64>) -> Result<(), Error> {
        let Some(line) = Line::of(value) else {
            self.faults.push(Fault { place, reason: "no payload" });
            return Ok(());
        };
        if !self.follow(&line, offset)? {
            self.leave([&line.kind, &line.inner, b""], 1)?;
        }
        for field in worded(value, &[b"payload"]) {
            self.leave([&line.kind, &field.exact_name(), b""], 1)?;
        }
        Ok(())
    }

    fn prompt(self: Box<Self>) -> Result<Prompt, Error> {
        let part = |item: Item| Part { role: None, results_first: false, places: vec![item.content] };
        Ok(Prompt {
            format: "codex",
            charges: self.charges,
            compactions: self.compactions,
            contexts: self.contexts,
            model: self.model,
            system: self.system,
            window: self.window,
            folder: Vec::new(),
            noted: Vec::new(),
            faults: self.faults,
            left_out: self.left_out.named(&self.names),
            writer: Writer::new(self.list.into_iter().map(part).collect(), self.held),
        })
    }
}

/// The fields of a line that are read.
struct Line<'t, 'a> {
    /// Its type, and that of its payload; empty for none.
    kind: std::borrow::Cow<'a, [u8]>,
    inner: std::borrow::Cow<'a, [u8]>,
    payload: Json<'t, 'a>,
    time: Option<std::borrow::Cow<'a, [u8]>>,
}

impl<'t, 'a> Line<'t, 'a> {
    /// A line with a payload.
    fn of(value: &Json<'t, 'a>) -> Option<Self> {
        let (mut kind, mut payload, mut time) = (None, None, None);
        for field in value.is_object().then(|| value.values()).into_iter().flatten() {
            match &*field.exact_name() {
                b"type" => kind = Some(field),
                b"payload" => payload = Some(field),
                b"timestamp" => time = Some(field),
                _ => {}
            }
        }
        let payload = payload.filter(Json::is_object)?;
        let inner = text(last(&payload, b"type")).unwrap_or_default();
        Some(Self { kind: text(kind).unwrap_or_default(), inner, payload, time: text(time) })
    }
}

/// The system prompt of a session; empty for none.
fn system(meta: &Json<'_, '_>) -> Vec<u8> {
    let base = last(meta, b"base_instructions").filter(Json::is_truthy);
    let Some(named) = base.or_else(|| last(meta, b"instructions")) else { return Vec::new() };
    let words = if named.is_object() { last(&named, b"text") } else { Some(named) };
    text(words).map_or_else(Vec::new, std::borrow::Cow::into_owned)
}
