use super::*;
use crate::session::{Billed, Fault, Lines, Place, Prompt, Stop, Taken, Tokens};

/// The prompt of lines.
fn prompt(lines: &[&str], whole: bool) -> (Prompt, String) {
    let text = lines.join("\n");
    let mut taken = Lines::of(Entries::new(whole));
    let all = taken.take(text.as_bytes(), Place { line: 1, offset: 0 }, true).unwrap();
    assert_eq!((all.bytes, all.stop), (text.len(), Stop::End));
    let prompt = taken.prompt().unwrap();
    let messages = prompt.write(0..prompt.messages(), &[(0, text.as_bytes())]).unwrap();
    (prompt, messages)
}

fn user(key: &str, parent: &str, content: &str) -> String {
    format!(r#"{{"type":"user","uuid":"{key}","parentUuid":{parent},"message":{{"content":{content}}}}}"#)
}

fn says(key: &str, parent: &str, id: &str, content: &str, usage: &str) -> String {
    let message = format!(r#"{{"id":"{id}","model":"m","content":[{content}],"usage":{usage}}}"#);
    format!(r#"{{"type":"assistant","uuid":"{key}","parentUuid":"{parent}","message":{message}}}"#)
}

const CALLS: [&str; 2] = [r#"{"type":"tool_use","id":"a"}"#, r#"{"type":"tool_use","id":"b"}"#];

#[test]
fn lines_of_a_response_and_results_beside_the_chain_are_joined_in_the_order_of_the_file() {
    let result = |id: &str| format!(r#"[{{"type":"tool_result","tool_use_id":"{id}"}}]"#);
    let lines = [
        user("1", "null", r#""go""#),
        says("2", "1", "x", CALLS[0], r#"{"input_tokens":7,"output_tokens":1}"#),
        says("3", "1", "x", CALLS[1], r#"{"input_tokens":7,"output_tokens":5}"#),
        user("4", "\"3\"", &result("b")),
        user("5", "\"2\"", &result("a")),
        says("6", "5", "y", r#"{"type":"text","text":"done"}"#, "null"),
    ];
    let (prompt, messages) = prompt(&lines.each_ref().map(String::as_str), false);
    let [call, answer] = [CALLS.join(","), result("b").replace(']', ",") + &result("a")[1..]];
    let last = r#"{"role":"assistant","content":[{"type":"text","text":"done"}]}"#;
    assert_eq!(
        messages,
        format!(
            r#"[{{"role":"user","content":"go"}},{{"role":"assistant","content":[{call}]}},{{"role":"user","content":{answer}}},{last}]"#
        )
    );
    let [charge] = &prompt.charges[..] else { panic!("one call was billed") };
    assert_eq!((charge.before, &*charge.model, charge.is_prompt), (1, b"m".as_slice(), true));
    assert_eq!(charge.billed, Billed::Tokens(Tokens { input: 7, output: 5, ..Tokens::default() }));
}

#[test]
fn messages_in_front_of_a_summary_are_left_out_unless_all_are_wanted() {
    let summary =
        r#"{"type":"user","uuid":"s","parentUuid":null,"isCompactSummary":true,"message":{"content":"short"}}"#;
    let lines = [&user("1", "null", r#""long""#), summary, &user("2", "\"s\"", r#""more""#)];
    let (found, messages) = prompt(&lines, false);
    assert_eq!(messages, r#"[{"role":"user","content":"short"},{"role":"user","content":"more"}]"#);
    assert_eq!(found.left_out, [(vec![b"user".to_vec(), b"compacted".to_vec()], 1)]);
    let (found, _) = prompt(&lines, true);
    assert_eq!((found.messages(), found.compactions, found.contexts), (3, vec![1], vec![vec![1]]));
}

#[test]
fn a_line_that_is_no_object_alone_stops_and_comes_as_json() {
    let line = user("1", "null", r#""caf\u00e9""#);
    for other in ["[]", "{} {}", "{", "5", &format!("{{\"a\":{}{}}}", "[".repeat(300), "]".repeat(300))] {
        let (text, mut lines) = (format!("{line}\n \t\n{other}\n"), Lines::of(Entries::new(false)));
        let taken = lines.take(text.as_bytes(), Place { line: 1, offset: 0 }, true).unwrap();
        let want = Taken { bytes: line.len() + 4, lines: 2, values: 1, stop: Stop::Unusual };
        assert_eq!(taken, want, "{other}");
        let place = Place { line: 3, offset: 9 };
        lines.take_value(&user("2", "\"1\"", "[]"), place).unwrap();
        lines.take_value("5", place).unwrap();
        let prompt = lines.prompt().unwrap();
        assert_eq!(prompt.faults, [Fault { place, reason: "a bare value, no object" }]);
        assert_eq!(prompt.places(0, u64::MAX), (2, vec![(65, 11)]));
        let messages = prompt.write(0..2, &[(65, &text.as_bytes()[65..76])]).unwrap();
        assert_eq!(messages, r#"[{"role":"user","content":"caf\u00e9"},{"role":"user","content":[]}]"#);
        prompt.write(0..2, &[(66, text.as_bytes())]).unwrap_err();
    }
    let cut = Lines::of(Entries::new(false)).take(b"{}\n{", Place { line: 1, offset: 0 }, false).unwrap();
    assert_eq!(cut, Taken { bytes: 3, lines: 1, values: 1, stop: Stop::Cut });
}

#[test]
fn a_usage_with_other_fields_comes_as_json() {
    let lines = [
        user("1", "null", r#""go""#),
        says("2", "1", "x", CALLS[0], r#"{"input_tokens":7,"output_tokens":1}"#),
        says("3", "2", "x", CALLS[1], r#"{"prompt_tokens":9}"#),
    ];
    let (prompt, _) = prompt(&lines.each_ref().map(String::as_str), false);
    let Billed::Json(json) = &prompt.charges[0].billed else { panic!("a field is unknown") };
    assert!(json.starts_with(r#"[{"input_tokens":7,"#) && json.ends_with(r#"},{"prompt_tokens":9}]"#), "{json}");
}

#[test]
fn what_may_show_the_window_is_noted_without_the_rest_of_its_line() {
    let lines = [
        r#"{"type":"result","model":"m[1m]","text":"long"}"#,
        r#"{"content":"<local-command-stdout>Set model to x","cwd":"/w"}"#,
        r#"{"message":{"betas":["b"],"content":"said"},"cwd":"/v"}"#,
        r#"{"content":"<other>"}"#,
    ];
    let (prompt, _) = prompt(&lines, false);
    let want = [
        r#"{"model":"m[1m]","message":{}}"#,
        r#"{"message":{"content":"<local-command-stdout>Set model to x"}}"#,
        r#"{"message":{"betas":["b"]}}"#,
    ];
    assert_eq!((prompt.noted, &*prompt.folder), (want.map(str::to_owned).to_vec(), b"/v".as_slice()));
}
