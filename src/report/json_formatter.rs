//! JSON formatter that indents lines, and writes deeply nested values on one line.

use std::io;

use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

/// Nesting depth from which lists and objects are written on one line.
const INLINE_DEPTH: usize = 9;

/// Formatter that indents by two spaces, except for deeply nested values.
#[derive(Debug, Default)]
pub(super) struct ReportFormatter {
    indented: PrettyFormatter<'static>,
    /// In how many lists and objects it is.
    depth: usize,
}

/// Hands a call to the formatter of the depth that it is at.
macro_rules! at_depth {
    ($self:ident, $call:ident ( $($argument:expr),* )) => {
        if INLINE_DEPTH <= $self.depth { CompactFormatter.$call($($argument),*) } else { $self.indented.$call($($argument),*) }
    };
}

impl Formatter for ReportFormatter {
    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        at_depth!(self, begin_array(out))
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        let ended = at_depth!(self, end_array(out));
        self.depth = self.depth.saturating_sub(1);
        ended
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        at_depth!(self, begin_array_value(out, first))
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        at_depth!(self, end_array_value(out))
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        at_depth!(self, begin_object(out))
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        let ended = at_depth!(self, end_object(out));
        self.depth = self.depth.saturating_sub(1);
        ended
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        at_depth!(self, begin_object_key(out, first))
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        at_depth!(self, begin_object_value(out))
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        at_depth!(self, end_object_value(out))
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize as _;
    use serde_json::{Value, json};

    use super::*;

    fn format_json(value: &Value) -> String {
        let mut out = Vec::new();
        value
            .serialize(&mut serde_json::Serializer::with_formatter(&mut out, ReportFormatter::default()))
            .expect("JSON");
        String::from_utf8(out).expect("text")
    }

    /// Returns the value nested in this number of lists.
    fn nest_in_lists(value: Value, lists: usize) -> Value {
        (0..lists).fold(value, |value, _| Value::Array(vec![value]))
    }

    #[test]
    fn only_deeply_nested_json_is_written_on_one_line() {
        let step = json!({"a": [1, {"b": []}], "c": {}, "d": "x\n"});
        for lists in 0..12 {
            let value = nest_in_lists(json!([step, [], step]), lists);
            let (formatted, pretty) = (format_json(&value), serde_json::to_string_pretty(&value).expect("JSON"));
            assert_eq!(serde_json::from_str::<Value>(&formatted).ok().as_ref(), Some(&value), "{formatted}");
            let one_line = formatted.contains(r#"{"a":[1,{"b":[]}],"c":{},"d":"x\n"}"#);
            assert_eq!(one_line, lists + 2 >= INLINE_DEPTH, "{lists}: {formatted}");
            // No value is nested that deeply.
            assert_eq!(formatted == pretty, lists + 4 < INLINE_DEPTH, "{lists}: {formatted}");
        }
        for value in
            [json!(null), json!([]), json!({}), json!("a"), nest_in_lists(json!({}), 9), nest_in_lists(json!([]), 20)]
        {
            assert_eq!(serde_json::from_str::<Value>(&format_json(&value)).ok(), Some(value));
        }
    }
}
