//! Parses the tokens of a condition into an untyped syntax tree.

use crate::rules::condition_lexer::{ConditionToken, tokenize_condition};
use crate::rules::page_error::Fault;
use crate::text::source::Span;

/// The maximum length of a condition in bytes.
const MAX_CONDITION_BYTES: usize = 4096;
/// The maximum nesting depth of brackets, negations and calls.
const MAX_NESTING: usize = 64;

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparisonOperator {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// A node of the syntax tree of a condition.
#[derive(Clone, Debug)]
pub(super) struct ConditionNode {
    pub(super) span: Span,
    pub(super) kind: ConditionNodeKind,
}

/// The kind of a node, with its children.
#[derive(Clone, Debug)]
pub(super) enum ConditionNodeKind {
    Bool(bool),
    Text(String),
    Number(i64),
    Name(String),
    Call { name: String, name_span: Span, arguments: Vec<ConditionNode> },
    Not(Box<ConditionNode>),
    And(Vec<ConditionNode>),
    Or(Vec<ConditionNode>),
    Compare(ComparisonOperator, Box<ConditionNode>, Box<ConditionNode>),
}

/// Parses a condition into its syntax tree.
pub(super) fn parse_condition(source: &str) -> Result<ConditionNode, Fault> {
    if source.len() > MAX_CONDITION_BYTES {
        return Err(Fault::new(Span::new(0, 1), format!("a condition has at most {MAX_CONDITION_BYTES} bytes")));
    }
    let mut parser = ConditionParser { tokens: tokenize_condition(source)?, at: 0, end: source.len() };
    let node = parser.parse_or(0)?;
    match parser.tokens.get(parser.at) {
        None => Ok(node),
        Some((token, span)) => {
            Err(Fault::new(*span, "the condition ends before this").with_help(joining_advice(token)))
        }
    }
}

/// Returns the advice for a token behind the end of a condition.
fn joining_advice(token: &ConditionToken) -> String {
    match token {
        ConditionToken::Name(name) if name == "and" => "write `&&`".to_owned(),
        ConditionToken::Name(name) if name == "or" => "write `||`".to_owned(),
        _ => "join two conditions with `&&` or `||`".to_owned(),
    }
}

/// A recursive-descent parser for the conditions of rules.
struct ConditionParser {
    tokens: Vec<(ConditionToken, Span)>,
    at: usize,
    end: usize,
}

impl ConditionParser {
    /// Consumes an operator or bracket if it is the next token; returns its span.
    fn take_sign(&mut self, expected: &str) -> Option<Span> {
        match self.tokens.get(self.at) {
            Some((ConditionToken::Sign(sign), span)) if *sign == expected => {
                self.at += 1;
                Some(*span)
            }
            _ => None,
        }
    }

    /// Returns the span of the next token, or the end of the text.
    fn next_span(&self) -> Span {
        self.tokens.get(self.at).map_or(Span::new(self.end, self.end), |(_, span)| *span)
    }

    /// Consumes an operator or bracket; an error if it is not the next token.
    fn expect_sign(&mut self, expected: &str) -> Result<Span, Fault> {
        let here = self.next_span();
        self.take_sign(expected).ok_or_else(|| Fault::new(here, format!("expected `{expected}`")))
    }

    /// Parses expressions joined by the operator for "or".
    fn parse_or(&mut self, depth: usize) -> Result<ConditionNode, Fault> {
        let mut parts = vec![self.parse_and(depth)?];
        while self.take_sign("||").is_some() {
            parts.push(self.parse_and(depth)?);
        }
        Ok(join_nodes(parts, ConditionNodeKind::Or))
    }

    /// Parses expressions joined by `&&`.
    fn parse_and(&mut self, depth: usize) -> Result<ConditionNode, Fault> {
        let mut parts = vec![self.parse_comparison(depth)?];
        while self.take_sign("&&").is_some() {
            parts.push(self.parse_comparison(depth)?);
        }
        Ok(join_nodes(parts, ConditionNodeKind::And))
    }

    /// Parses a comparison, or a single operand.
    fn parse_comparison(&mut self, depth: usize) -> Result<ConditionNode, Fault> {
        let left = self.parse_unary(depth)?;
        let Some(operator) = self.take_comparison_operator() else { return Ok(left) };
        let right = self.parse_unary(depth)?;
        let again = self.next_span();
        if self.take_comparison_operator().is_some() {
            return Err(Fault::new(again, "comparisons do not chain").with_help("write `a < b && b < c`".to_owned()));
        }
        Ok(ConditionNode {
            span: left.span.cover(right.span),
            kind: ConditionNodeKind::Compare(operator, Box::new(left), Box::new(right)),
        })
    }

    /// Consumes a comparison operator if it is the next token.
    fn take_comparison_operator(&mut self) -> Option<ComparisonOperator> {
        let operator = match self.tokens.get(self.at)? {
            (ConditionToken::Sign("=="), _) => ComparisonOperator::Equal,
            (ConditionToken::Sign("!="), _) => ComparisonOperator::NotEqual,
            (ConditionToken::Sign("<"), _) => ComparisonOperator::Less,
            (ConditionToken::Sign("<="), _) => ComparisonOperator::AtMost,
            (ConditionToken::Sign(">"), _) => ComparisonOperator::Greater,
            (ConditionToken::Sign(">="), _) => ComparisonOperator::AtLeast,
            _ => return None,
        };
        self.at += 1;
        Some(operator)
    }

    /// Parses a negation, a bracketed expression, a literal, a name or a call.
    fn parse_unary(&mut self, depth: usize) -> Result<ConditionNode, Fault> {
        let here = self.next_span();
        if depth > MAX_NESTING {
            return Err(Fault::new(here, format!("nested deeper than {MAX_NESTING} levels")));
        }
        if let Some(not) = self.take_sign("!") {
            let inner = self.parse_unary(depth + 1)?;
            return Ok(ConditionNode { span: not.cover(inner.span), kind: ConditionNodeKind::Not(Box::new(inner)) });
        }
        if self.take_sign("(").is_some() {
            let inner = self.parse_or(depth + 1)?;
            let close = self.expect_sign(")")?;
            return Ok(ConditionNode { span: here.cover(close), kind: inner.kind });
        }
        let Some((token, span)) = self.tokens.get(self.at).cloned() else {
            return Err(Fault::new(here, "the condition ends where a value is expected"));
        };
        self.at += 1;
        let kind = match token {
            ConditionToken::Text(text) => ConditionNodeKind::Text(text),
            ConditionToken::Number(number) => ConditionNodeKind::Number(number),
            ConditionToken::Name(name) if name == "true" || name == "false" => ConditionNodeKind::Bool(name == "true"),
            ConditionToken::Name(name) => match self.take_sign("(") {
                Some(_) => return self.parse_call(name, span, depth),
                None if name == "not" => {
                    return Err(Fault::new(span, "`not` is not an operator").with_help("write `!`".to_owned()));
                }
                None => ConditionNodeKind::Name(name),
            },
            ConditionToken::Sign(sign) => return Err(Fault::new(span, format!("expected a value, found `{sign}`"))),
        };
        Ok(ConditionNode { span, kind })
    }

    /// Parses the arguments of a call, behind its opening bracket.
    fn parse_call(&mut self, name: String, name_span: Span, depth: usize) -> Result<ConditionNode, Fault> {
        let mut arguments = Vec::new();
        let close = loop {
            if arguments.is_empty()
                && let Some(close) = self.take_sign(")")
            {
                break close;
            }
            arguments.push(self.parse_or(depth + 1)?);
            if self.take_sign(",").is_none() {
                break self.expect_sign(")")?;
            }
        };
        Ok(ConditionNode { span: name_span.cover(close), kind: ConditionNodeKind::Call { name, name_span, arguments } })
    }
}

/// Joins several nodes into one; a single node is returned unchanged.
fn join_nodes(mut parts: Vec<ConditionNode>, join: fn(Vec<ConditionNode>) -> ConditionNodeKind) -> ConditionNode {
    let span = parts.iter().map(|part| part.span).reduce(Span::cover).unwrap_or_default();
    match parts.len() {
        1 => parts.remove(0),
        _ => ConditionNode { span, kind: join(parts) },
    }
}
