//! Splits shell text into words and operators.

use std::ops::Range;

/// A token of shell text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellToken {
    /// A word, including its quotes.
    Word(Range<usize>),
    /// `;`, `&`, or the end of a line.
    Separator,
    /// `&&`.
    And,
    /// `;;`, `;&` or `;;&`.
    ArmEnd,
    /// `|`.
    Pipe,
    /// `||`.
    Or,
    /// `(`.
    Open,
    /// `)`.
    Close,
    /// A redirection with its target; for `<<`, the range of `<<` and the delimiter.
    Redirect(Range<usize>),
}

/// Splits shell text into tokens; the bodies of here-documents are skipped.
pub(super) fn tokenize(text: &str) -> Vec<ShellToken> {
    let mut lexer = ShellLexer { text, bytes: text.as_bytes(), at: 0, pending: Vec::new(), out: Vec::new() };
    lexer.read_tokens();
    lexer.out
}

/// The state of a tokenizer.
struct ShellLexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    pending: Vec<(String, bool)>,
    out: Vec<ShellToken>,
}

impl ShellLexer<'_> {
    /// Returns the byte at a distance from the current position, or 0 behind the end.
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Reads all tokens.
    fn read_tokens(&mut self) {
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if self.peek(1) == b'\n' => self.at += 2,
                b'\\' if self.peek(1) == b'\r' && self.peek(2) == b'\n' => self.at += 3,
                b'\n' => {
                    self.at += 1;
                    self.out.push(ShellToken::Separator);
                    self.skip_heredocs();
                }
                b'#' => self.at = self.line_end(self.at),
                b'|' if self.peek(1) == b'|' => self.push_operator(ShellToken::Or, 2),
                b'&' if self.peek(1) == b'>' => self.read_redirection(),
                b'&' if self.peek(1) == b'&' => self.push_operator(ShellToken::And, 2),
                b';' if self.peek(1) == b';' => {
                    self.push_operator(ShellToken::ArmEnd, 2 + usize::from(self.peek(2) == b'&'));
                }
                b';' if self.peek(1) == b'&' => self.push_operator(ShellToken::ArmEnd, 2),
                b'|' => self.push_operator(ShellToken::Pipe, 1 + usize::from(self.peek(1) == b'&')),
                b';' | b'&' => self.push_operator(ShellToken::Separator, 1),
                b'(' => self.push_operator(ShellToken::Open, 1),
                b')' => self.push_operator(ShellToken::Close, 1),
                b'<' | b'>' if self.peek(1) == b'(' => {
                    let start = self.at;
                    self.skip_substitution();
                    self.out.push(ShellToken::Word(start..self.at.min(self.bytes.len())));
                }
                b'<' | b'>' => self.read_redirection(),
                _ => {
                    let word = self.read_word();
                    let digits = self.bytes[word.clone()].iter().all(u8::is_ascii_digit);
                    if digits && matches!(self.peek(0), b'<' | b'>') {
                        self.read_redirection();
                    } else {
                        self.out.push(ShellToken::Word(word));
                    }
                }
            }
        }
    }

    /// Adds an operator token and skips its bytes.
    fn push_operator(&mut self, token: ShellToken, length: usize) {
        self.at += length;
        self.out.push(token);
    }

    /// Returns the end of the line at a position.
    fn line_end(&self, from: usize) -> usize {
        self.bytes[from..].iter().position(|byte| *byte == b'\n').map_or(self.bytes.len(), |end| from + end)
    }

    /// Reads a redirection with its target.
    fn read_redirection(&mut self) {
        let start = self.at;
        while matches!(self.peek(0), b'<' | b'>' | b'&' | b'|') && self.at < start + 3 {
            self.at += 1;
        }
        let here = self.text.get(start..self.at) == Some("<<");
        let strip = here && self.peek(0) == b'-';
        self.at += usize::from(strip);
        while matches!(self.peek(0), b' ' | b'\t') {
            self.at += 1;
        }
        if matches!(self.peek(0), b'(') {
            return;
        }
        let target = self.read_word();
        if here {
            let name = self.text.get(target.clone()).unwrap_or("").replace(['"', '\'', '\\'], "");
            if !name.is_empty() {
                self.pending.push((name, strip));
            }
        }
        self.out.push(ShellToken::Redirect(start..target.end));
    }

    /// Skips the bodies of the here-documents that the previous line started.
    fn skip_heredocs(&mut self) {
        for (name, strip) in std::mem::take(&mut self.pending) {
            while self.at < self.bytes.len() {
                let end = self.line_end(self.at);
                let line = self.text.get(self.at..end).unwrap_or("").trim_end_matches('\r');
                self.at = (end + 1).min(self.bytes.len());
                if name == if strip { line.trim_start_matches('\t') } else { line } {
                    break;
                }
            }
        }
    }

    /// Reads a word.
    fn read_word(&mut self) -> Range<usize> {
        let start = self.at;
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\\' => self.at += 2,
                b'\'' => {
                    self.at += 1;
                    self.skip_quoted(b'\'', false);
                }
                quote @ (b'"' | b'`') => {
                    self.at += 1;
                    self.skip_quoted(quote, true);
                }
                b'$' if matches!(self.peek(1), b'(' | b'{') => self.skip_substitution(),
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.bytes.len());
        start..self.at
    }

    /// Skips a quoted text up to its closing quote.
    fn skip_quoted(&mut self, end: u8, escapes: bool) {
        while self.at < self.bytes.len() {
            match self.peek(0) {
                byte if byte == end => {
                    self.at += 1;
                    return;
                }
                b'\\' if escapes => self.at += 2,
                b'$' if end == b'"' && self.peek(1) == b'(' => self.skip_substitution(),
                _ => self.at += 1,
            }
        }
    }

    /// Skips `$( )`, `<( )` or `${ }` with its content.
    fn skip_substitution(&mut self) {
        let (open, close) = if self.peek(1) == b'(' { (b'(', b')') } else { (b'{', b'}') };
        let mut depth = 0_usize;
        let mut single = false;
        self.at += 1;
        while self.at < self.bytes.len() {
            let byte = self.peek(0);
            self.at += 1;
            match byte {
                b'\'' => single = !single,
                b'\\' if !single => self.at += 1,
                _ if single => {}
                _ if byte == open => depth += 1,
                _ if byte == close => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && !single {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words of a text, with operators by their symbols.
    fn token_texts(text: &str) -> Vec<&str> {
        let range = |token| match token {
            ShellToken::Word(range) => text.get(range),
            ShellToken::Redirect(_) => Some("<>"),
            ShellToken::Open => Some("("),
            ShellToken::Close => Some(")"),
            ShellToken::Or => Some("||"),
            ShellToken::Separator => Some(";"),
            ShellToken::And => Some("&&"),
            ShellToken::ArmEnd => Some(";;"),
            ShellToken::Pipe => Some("|"),
        };
        tokenize(text).into_iter().filter_map(range).collect()
    }

    #[test]
    fn text_falls_into_words_and_operators() {
        assert_eq!(token_texts("a 'b c' && d\\ e|f # g"), ["a", "'b c'", "&&", "d\\ e", "|", "f"]);
        assert_eq!(token_texts("a > b 2>&1 || (c; d)"), ["a", "<>", "<>", "||", "(", "c", ";", "d", ")"]);
        assert_eq!(token_texts("x=$(a | b) \"$(c \"d\")\" `e f`"), ["x=$(a | b)", "\"$(c \"d\")\"", "`e f`"]);
        assert_eq!(token_texts("a -r <(b | c) |& d"), ["a", "-r", "<(b | c)", "|", "d"]);
        assert_eq!(token_texts("a <("), ["a", "<("]);
        assert_eq!(token_texts("a;; b ;& c;;& d & e"), ["a", ";;", "b", ";;", "c", ";;", "d", ";", "e"]);
        assert_eq!(token_texts("cat <<E > f\nbody; x\nE\nnext"), ["cat", "<>", "<>", ";", "next"]);
        assert_eq!(token_texts("pip install 'torch>=2,<3' a>=1"), ["pip", "install", "'torch>=2,<3'", "a", "<>"]);
    }
}
