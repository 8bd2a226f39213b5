# Computes the intervals, comparisons and ranks of studies with the functions of R. Input are the lines of a
# table: what, case, rate, weight, of, question, day, num, den. Output are lines of a case and its numbers.
rows <- read.csv(file("stdin"), stringsAsFactors = FALSE)
few_questions <- 12
min_days <- 5

# wilson returns the interval of Wilson by prop.test, whose level is chosen so that its quantile is that of t.
wilson <- function(p, n, degrees) {
  level <- 2 * pnorm(qt(0.975, degrees)) - 1
  suppressWarnings(prop.test(p * n, n, conf.level = level, correct = FALSE))$conf.int
}

# squared_error returns the squared standard error of a mean whose influences are given, by t.test.
squared_error <- function(u) {
  if (max(abs(u)) < 1e-12) 0 else t.test(length(u) * u)$stderr^2
}

estimate <- function(d) {
  cells <- interaction(d$question, d$day)
  u <- 0
  value <- 0
  weights <- 0
  for (one in split(d, d$rate)) {
    w <- one$weight[1]
    p <- sum(one$num) / sum(one$den)
    value <- value + w * p
    weights <- weights + w
    influence <- w * (one$num - p * one$den) / sum(one$den)
    u <- u + tapply(influence, cells[d$rate == one$rate[1]], sum)
  }
  value <- value / weights
  u <- u / weights
  used <- d$den > 0
  questions <- unique(d$question[used])
  days <- unique(d$day[used])
  m <- length(questions)
  key <- strsplit(names(u), ".", fixed = TRUE)
  of_cell <- sapply(key, `[`, 1)
  of_day <- sapply(key, `[`, 2)
  kept <- names(u) %in% unique(as.character(cells[used]))
  u <- u[kept]
  by_question <- tapply(u, of_cell[kept], sum)
  by_day <- tapply(u, of_day[kept], sum)
  most <- sum(d$of[!duplicated(d$rate)])
  few <- length(unique(d$question[used & d$num > 0])) < few_questions ||
    length(unique(d$question[used & d$num < d$den])) < few_questions
  degrees <- m - 1
  if (value <= 0 || value >= 1) {
    n <- m
  } else {
    least <- m - 1
    between <- squared_error(by_question)
    variance <- between
    if (length(days) >= min_days) {
      more <- max(squared_error(by_day) - squared_error(u), 0)
      variance <- between + more
      satterthwaite <- variance^2 / (between^2 / (m - 1) + more^2 / (length(days) - 1))
      if (is.finite(satterthwaite)) degrees <- max(min(m - 1, floor(satterthwaite + 1e-9)), 1)
      least <- min(m, length(days)) - 1
    }
    n <- if (variance == 0) most else min(max(value * (1 - value) / variance, least), most)
    if (few) n <- min(n, m)
  }
  c(value, wilson(value, n, degrees), n)
}

# compare returns the mean difference with its interval, t and p, by t.test.
compare <- function(d) {
  x <- d$num[d$rate == 0]
  y <- d$num[d$rate == 1]
  test <- t.test(x, y, paired = TRUE)
  c(test$estimate, test$conf.int, test$statistic, test$p.value)
}

# ranks returns the lowest and highest rank of each brand: Holm by p.adjust over all pairs.
ranks <- function(d) {
  y <- split(d$num, d$rate)
  pairs <- combn(length(y), 2)
  p <- apply(pairs, 2, function(i) t.test(y[[i[1]]], y[[i[2]]], paired = TRUE)$p.value)
  better <- apply(pairs, 2, function(i) if (mean(y[[i[1]]]) > mean(y[[i[2]]])) i[1] else i[2])
  worse <- colSums(pairs) - better
  shown <- p.adjust(p, "holm") < 0.05
  low <- 1 + tabulate(worse[shown], length(y))
  c(low, length(y) - tabulate(better[shown], length(y)))
}

for (d in split(rows, rows$case)) {
  result <- switch(d$what[1], estimate = estimate(d), compare = compare(d), ranks = ranks(d))
  cat(d$case[1], sprintf("%.9f", result), "\n")
}
