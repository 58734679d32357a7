//! Unified diffs between two texts.

use std::fmt::Write as _;

/// Number of unchanged lines before and after a change.
const CONTEXT_LINES: usize = 3;
/// Maximum number of lines from the first to the last change that are compared; longer parts become one change.
const MAX_COMPARED_LINES: usize = 2_000;

/// A line of a diff.
#[derive(Clone, Copy)]
enum DiffLine<'a> {
    /// A line of both texts.
    Unchanged(&'a str),
    /// A line of the old text only.
    Removed(&'a str),
    /// A line of the new text only.
    Added(&'a str),
}

/// Returns the unified diff from one text to another; empty if they are equal.
pub fn unified_diff(path: &str, before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    let (olds, news): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let lines = diff_lines(&olds, &news);
    let mut out = format!("--- a/{path}\n+++ b/{path}\n");
    let changed: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !matches!(line, DiffLine::Unchanged(_)))
        .map(|(at, _)| at)
        .collect();
    let mut next = changed.iter().copied().peekable();
    while let Some(first) = next.next() {
        let mut last = first;
        while let Some(more) = next.next_if(|at| *at <= last + 2 * CONTEXT_LINES) {
            last = more;
        }
        write_hunk(&mut out, &lines, first.saturating_sub(CONTEXT_LINES), (last + CONTEXT_LINES + 1).min(lines.len()));
    }
    out
}

/// Appends the hunk of a range of lines.
fn write_hunk(out: &mut String, lines: &[DiffLine<'_>], from: usize, to: usize) {
    let count = |list: &[DiffLine<'_>]| {
        let old = list.iter().filter(|line| !matches!(line, DiffLine::Added(_))).count();
        let new = list.iter().filter(|line| !matches!(line, DiffLine::Removed(_))).count();
        (old, new)
    };
    let (before, own) = (lines.get(..from).unwrap_or_default(), lines.get(from..to).unwrap_or_default());
    let ((old_at, new_at), (olds, news)) = (count(before), count(own));
    let start = |at: usize, length: usize| if length == 0 { at } else { at + 1 };
    // Writing into a text cannot fail.
    let _ = writeln!(out, "@@ -{},{olds} +{},{news} @@", start(old_at, olds), start(new_at, news));
    for line in own {
        let (sign, text) = match line {
            DiffLine::Unchanged(text) => (' ', text),
            DiffLine::Removed(text) => ('-', text),
            DiffLine::Added(text) => ('+', text),
        };
        out.push(sign);
        out.push_str(text);
        if !text.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Returns the unchanged, removed and added lines of two texts.
fn diff_lines<'a>(olds: &[&'a str], news: &[&'a str]) -> Vec<DiffLine<'a>> {
    let head = olds.iter().zip(news).take_while(|(one, other)| one == other).count();
    let rest = |list: &[&'a str]| list.get(head..).unwrap_or_default().to_vec();
    let (mut old, mut new) = (rest(olds), rest(news));
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(one, other)| one == other).count();
    let kept: Vec<&str> = old.split_off(old.len() - tail);
    new.truncate(new.len() - tail);
    let mut found: Vec<DiffLine<'a>> = olds.iter().take(head).map(|line| DiffLine::Unchanged(line)).collect();
    if old.len().max(new.len()) > MAX_COMPARED_LINES {
        found.extend(old.iter().map(|line| DiffLine::Removed(line)));
        found.extend(new.iter().map(|line| DiffLine::Added(line)));
    } else {
        diff_changed_part(&old, &new, &mut found);
    }
    found.extend(kept.into_iter().map(DiffLine::Unchanged));
    found
}

/// Appends the diff of the part that changed, by its longest common subsequence.
fn diff_changed_part<'a>(old: &[&'a str], new: &[&'a str], found: &mut Vec<DiffLine<'a>>) {
    let width = new.len() + 1;
    let mut longest = vec![0_u32; (old.len() + 1) * width];
    let at = |row: usize, column: usize| row * width + column;
    let get = |table: &[u32], row: usize, column: usize| table.get(at(row, column)).copied().unwrap_or(0);
    for (row, one) in old.iter().enumerate().rev() {
        for (column, other) in new.iter().enumerate().rev() {
            let value = if one == other {
                get(&longest, row + 1, column + 1) + 1
            } else {
                get(&longest, row + 1, column).max(get(&longest, row, column + 1))
            };
            if let Some(cell) = longest.get_mut(at(row, column)) {
                *cell = value;
            }
        }
    }
    let (mut row, mut column) = (0, 0);
    loop {
        match (old.get(row), new.get(column)) {
            (Some(one), Some(other)) if one == other => {
                found.push(DiffLine::Unchanged(one));
                (row, column) = (row + 1, column + 1);
            }
            (Some(one), other)
                if other.is_none() || get(&longest, row + 1, column) >= get(&longest, row, column + 1) =>
            {
                found.push(DiffLine::Removed(one));
                row += 1;
            }
            (_, Some(other)) => {
                found.push(DiffLine::Added(other));
                column += 1;
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unified_diff;

    #[test]
    fn a_patch_has_the_lines_around_each_change() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        assert_eq!(
            unified_diff("f", before, &before.replace("2\n3", "2\nx\n3").replace("11\n", "")),
            "--- a/f\n+++ b/f\n@@ -1,5 +1,6 @@\n 1\n 2\n+x\n 3\n 4\n 5\n@@ -8,5 +9,4 @@\n 8\n 9\n 10\n-11\n 12\n"
        );
        assert_eq!(
            unified_diff("f", "a\nb", "a\nc"),
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
        );
        assert_eq!(unified_diff("f", "", "a\n"), "--- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(
            unified_diff("f", "a\r\nb\r\n", "a\r\nc\r\n"),
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"
        );
        assert_eq!(unified_diff("f", before, before), "");
    }
}
