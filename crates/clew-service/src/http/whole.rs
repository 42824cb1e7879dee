//! A request's body that says when all of it has come.

use hyper::body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A body that calls `came` once, at its end.
pub(super) struct Whole<B, F> {
    body: B,
    came: Option<F>,
}

impl<B, F> Whole<B, F> {
    pub(super) fn new(body: B, came: F) -> Self {
        Self {
            body,
            came: Some(came),
        }
    }
}

impl<B: Body + Unpin, F: FnOnce() + Unpin> Body for Whole<B, F> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let is_over = frame.is_none() || self.body.is_end_stream();
        if let Some(came) = self.came.take_if(|_| is_over) {
            came();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
