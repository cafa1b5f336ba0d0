use super::*;
use crate::session::{Billed, Fault, Lines, Place, Prompt, Tokens};

/// The prompt of lines.
fn prompt(lines: &[&str], whole: bool) -> (Prompt, String) {
    let text = lines.join("\n");
    let mut taken = Lines::of(Items::new(whole));
    taken.take(text.as_bytes(), Place { line: 1, offset: 0 }, true).unwrap();
    let prompt = taken.prompt().unwrap();
    let messages = prompt.write(0..prompt.messages(), &[(0, text.as_bytes())]).unwrap();
    (prompt, messages)
}

fn item(json: &str) -> String {
    format!(r#"{{"type":"response_item","payload":{json}}}"#)
}

const ASKED: &str = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}"#;
const CALL: &str = r#"{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}"#;
const OUTPUT: &str = r#"{"type":"function_call_output","call_id":"a","output":"done"}"#;

fn usage(last: &str, total: u32) -> String {
    let info = format!(r#"{{"last_token_usage":{last},"total_token_usage":{total},"model_context_window":2000}}"#);
    format!(r#"{{"type":"event_msg","timestamp":"x","payload":{{"type":"token_count","info":{info}}}}}"#)
}

#[test]
fn a_usage_belongs_to_the_response_in_front_of_its_outputs_and_counts_once() {
    let billed =
        r#"{"input_tokens":9,"cached_input_tokens":4,"output_tokens":3,"reasoning_output_tokens":1,"total_tokens":12}"#;
    let (first, again) = (usage(billed, 1), usage(r#"{"input_tokens":5}"#, 2));
    let lines = [item(ASKED), item(CALL), item(OUTPUT), first.clone(), first, item(ASKED), again];
    let (prompt, messages) = prompt(&lines.each_ref().map(String::as_str), false);
    assert_eq!(messages, format!("[{ASKED},{CALL},{OUTPUT},{ASKED}]"));
    let [charge] = &prompt.charges[..] else { panic!("one call was billed") };
    assert_eq!((charge.before, charge.is_prompt, prompt.window), (1, true, Some(2_000)));
    let tokens = Tokens { input: 5, output: 3, cache_read: 4, ..Tokens::default() };
    assert_eq!(charge.billed, Billed::Tokens(tokens));
}

#[test]
fn a_replacement_takes_the_place_of_the_items_or_follows_them() {
    let copy = ASKED.replace("\"role\"", "\"id\":\"1\",\"role\"");
    let summary = r#"{"type":"compaction","encrypted_content":"x"}"#;
    let history = format!(r#"{{"type":"compacted","payload":{{"replacement_history":[5,{copy},{summary}]}}}}"#);
    let lines = [item(ASKED), item(CALL), history];
    let lines = lines.each_ref().map(String::as_str);
    let (found, messages) = prompt(&lines, false);
    assert_eq!(messages, format!("[{copy},{summary}]"));
    let left = [("compacted/no object", 1), ("compacted items", 1)];
    let names = found.left_out.iter().map(|(names, count)| (String::from_utf8(names.join(&b'/')).unwrap(), *count));
    assert!(names.eq(left.map(|(name, count)| (name.to_owned(), count))));
    let (found, messages) = prompt(&lines, true);
    assert_eq!(messages, format!("[{ASKED},{CALL},{summary}]"));
    assert_eq!((found.compactions, found.contexts), (vec![2], vec![vec![0, 2]]));
}

#[test]
fn an_older_compaction_keeps_what_was_asked_and_its_text() {
    let line = r#"{"type":"compacted","payload":{"message":"caf\u00e9"}}"#;
    let (_, messages) = prompt(&[&item(ASKED), &item(CALL), line], false);
    let summary = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"caf\u00e9"}]}"#;
    assert_eq!(messages, format!("[{ASKED},{summary}]"));
}

#[test]
fn a_rollback_removes_turns_from_the_end() {
    let setting = ASKED.replace("go", "<environment_context>x</environment_context>");
    for (turns, left) in
        [("1", 3), ("2", 1), ("99999999999999999999999", 1), ("0", 5), ("-1", 5), ("true", 3), ("1.0", 5)]
    {
        let line = format!(r#"{{"type":"event_msg","payload":{{"type":"thread_rolled_back","num_turns":{turns}}}}}"#);
        let lines = [item(&setting), item(ASKED), item(CALL), item(ASKED), item(CALL), line];
        let (prompt, _) = prompt(&lines.each_ref().map(String::as_str), false);
        assert_eq!(prompt.messages(), left, "{turns}");
    }
}

#[test]
fn a_line_without_a_payload_is_a_fault_and_settings_are_taken() {
    let lines = [
        r#"{"type":"session_meta","payload":{"base_instructions":{"text":"be brief"}}}"#,
        r#"{"type":"session_meta","payload":{"instructions":"of a fork"}}"#,
        r#"{"type":"turn_context","payload":{"model":"m"}}"#,
        r#"{"type":"turn_context","payload":{}}"#,
        r#"{"type":"response_item","payload":5}"#,
    ];
    let (prompt, messages) = prompt(&lines, false);
    assert_eq!((&*prompt.system, &*prompt.model, &*messages), (b"be brief".as_slice(), b"m".as_slice(), "[]"));
    let [Fault { place, reason }] = prompt.faults[..] else { panic!("one fault") };
    assert_eq!((place.line, reason), (5, "no payload"));
    assert_eq!(prompt.left_out, [(vec![b"session_meta".to_vec()], 1)]);
}
