-- One decision about one key or several, all or none. Before this text comes
-- the prelude (script.go), which sets now, in µs since 2025, and what tests use that
-- let time stand still: forever, not to expire.
--
-- Every number is a whole one below 2^53, which a double holds exactly. A time is
-- a pair (w, r): w + r/d µs, where a token takes m/d µs under the limit at hand.
-- A limit is its text m:d:burst:step; a step of -1 is a clock that stands at 0, for
-- rate 0, and m = 0 is no limit at all.
--
-- ARGV, the short way: the pattern of a value under this limit, the end of a new one
-- (" stamp limit"), cost and room in d-ths of a µs, "since bound", and where they are
-- not 1 and 0, d and step. Cost and room together fill the bucket; a room of -1 takes
-- nothing. Answer: what is missing (before the decision) in d-ths, with a step in a
-- pair with how far the clock's reading lies behind.
--
-- ARGV, the long way: operation, stamp; for each key: limit, d, step, fill w, fill r,
-- "since bound", cost w, cost r; and if anything of it is needed: a, b, c, for each
-- key: chain, owed w, owed r.
-- Answer: 1 or 0, now, tokens granted, delay; for each key: since, what is missing
-- w, r, how far its clock's reading lies behind; and of bookings for each key: v w,
-- v r, end w, end r, stamp. The short way ends in the long one's answer where it
-- meets what is unusual.

local argv, key = ARGV, KEYS[1]
local short = key and not argv[10]
local epoch = 1735689600000000

-- Nearly all decisions end here, before anything else is even defined: one key, the
-- value of this limit or none. It decides as the rest does. The instant of the last
-- write matters only for a bucket that lacks more than there is in a full one.
if short then
  local v, t, c, room, d, step = redis.pcall('GET', key), now, argv[3] + 0, argv[4] + 0, argv[6], argv[7]
  local n, rest = 0, argv[2]
  if step then
    step = step + 0
    if step < 0 then t = 0 else t = now - (now + epoch) % step end
  end
  if v then
    if v.err then -- WRONGTYPE; of a text it is nil
      rest = nil
    elseif d then
      local w, r
      w, r, rest = string.match(v, argv[1])
      if rest and #w < 17 and #r < 17 and r + 0 < d + 0 then n = (w - t) * d + r else rest = nil end
    else
      n, rest = string.match(v, argv[1])
      if rest and #n < 17 then n = n - t else rest = nil end
    end
  end
  if rest and n <= c + room then
    if n < 0 then n = 0 end
    if n <= room then
      local e = n + c
      if d then
        local r = e % d
        e = (e - r) / d
        v = string.format('%.0f %.0f %.0f%s', t + e, r, now, rest)
      else
        v = string.format('%.0f 0 %.0f%s', t + e, now, rest)
      end
      if forever or step and step < 0 then
        redis.call('SET', key, v)
      else
        local left = t + e - now
        local px = (left - left % 1000) / 1000 + 2
        if step then px = px + math.ceil(step / 1000) end
        if px < 1000 then px = 1000 end -- to make a busy key anew all the time costs more
        redis.call('PSETEX', key, px .. '', v) -- below 10^14, so exact
      end
    end
    if step then return {n, now - t} end
    return n
  end
end

local floor = math.floor

if short then
  local d, c, room = (argv[6] or 1) + 0, argv[3] + 0, argv[4] + 0
  local stamp, id = string.match(argv[2], '^ (%w+) (.*)$')
  argv = {
    room < 0 and 'peek' or 'take', stamp, id, d, argv[7] or 0, floor((c + room) / d), (c + room) % d, argv[5],
    floor(c / d), c % d,
  }
end

local op, stamp = argv[1], argv[2]

local function text(x) return string.format('%.0f', x) end

local function reading(step, t)
  if step < 0 then return 0 end
  if step > 0 then return t - (t + epoch) % step end
  return t
end

local function more(aw, ar, bw, br) return aw > bw or aw == bw and ar > br end

local function add(aw, ar, bw, br, d)
  local w, r = aw + bw, ar + br
  if r >= d then w, r = w + 1, r - d end
  return w, r
end

local function sub(aw, ar, bw, br, d)
  local w, r = aw - bw, ar - br
  if r < 0 then w, r = w - 1, r + d end
  return w, r
end

-- muldiv is a·b + c, divided by d < 2^52: quotient, at most 2^52, and rest.
local function muldiv(a, b, c, d)
  local bq, br, q, r, p = floor(b / d), b % d, 0, 0, 1
  while p + p <= a do p = p + p end
  while p >= 1 do
    q, r = q + q, r + r
    if r >= d then q, r = q + 1, r - d end
    if a >= p then
      a = a - p
      q, r = q + bq, r + br
      if r >= d then q, r = q + 1, r - d end
    end
    p = p / 2
  end
  q, r = q + floor(c / d), r + c % d
  if r >= d then q, r = q + 1, r - d end
  if q > 4503599627370496 then return 4503599627370496, 0 end
  return q, r
end

-- number reads what is below 2^53; nothing of what is not.
local function number(x)
  if x and #x < 17 then
    x = tonumber(x)
    if x < 9007199254740992 then return x end
  end
end

-- parse reads a limit's text: nothing if no limiter wrote it.
local function parse(id)
  local m, d, burst, step = string.match(id, '^(%d+):(%d+):(%d+):(-?%d+)$')
  if not m then return nil end
  m, d, burst, step = number(m), number(d), number(burst), number(step)
  if m and d and d > 0 and burst and step then return m, d, burst, step end
end

-- convert is what a TAT under one limit is under another, changed at instant s:
-- tokens stay, at most the new burst, the fraction included; so does debt.
local function convert(w, r, from, to, s)
  local m, d, burst, step = parse(from)
  local m2, d2, burst2, step2 = parse(to)
  if m2 == 0 then return 0, 0 end
  local c, c2, t, rest = reading(step, s), reading(step2, s), 0, 0
  if m > 0 and w >= c then t, rest = muldiv(w - c, d, r, m) end
  t = t + burst2 - burst
  if t < 0 then return c2, 0 end
  local y, some = 0, 0
  if rest > 0 then y, some = muldiv(rest, m2, 0, m) end
  if some > 0 then y = y + 1 end
  w, r = muldiv(t, m2, y, d2)
  return c2 + w, r
end

local tail = 2 + #KEYS * 8
local tailed = #argv > tail
local a, b, c = argv[tail + 1], argv[tail + 2], argv[tail + 3]
local ok, granted, delay = 1, tailed and tonumber(a) or 0, 0

-- load reads key i: its TAT under the limit at hand, and that limit's numbers.
local function load(i)
  local o, p = 2 + (i - 1) * 8, tail + 3 + (i - 1) * 3
  local since, bound = string.match(argv[o + 6], '^(%S+) (%S+)$')
  local k = {
    key = KEYS[i], id = argv[o + 1], d = tonumber(argv[o + 2]), step = tonumber(argv[o + 3]),
    fw = tonumber(argv[o + 4]), fr = tonumber(argv[o + 5]), since = tonumber(since),
    bound = tonumber(bound), cw = tonumber(argv[o + 7]), cr = tonumber(argv[o + 8]),
    chain = '',
  }
  local ow, owr = 0, 0
  if tailed then k.chain, ow, owr = argv[p + 1], tonumber(argv[p + 2]), tonumber(argv[p + 3]) end
  local t = now
  if k.since < 0 then
    k.since = now
  elseif k.since > now then
    -- This server's clock is behind the one that the change was dated by. A
    -- little, and nothing refills meanwhile; a lot, and that clock is gone.
    if k.chain ~= '' and k.since - now <= k.bound then t = k.since else k.since = now end
  end
  local w, r, at, id = 0, 0, -1, k.id
  local v = redis.pcall('GET', k.key)
  k.stamp = stamp
  if type(v) == 'table' then return nil, v end -- WRONGTYPE
  if v then
    w, r, at, k.stamp, id = string.match(v, '^(%d+) (%d+) (%d+) (%w+) (%S+)$')
    local _, d
    if id == k.id then d = k.d elseif id then _, d = parse(id) end
    w, r, at = number(w), number(r), number(at)
    if not (d and w and r and r < d and at) then
      return nil, redis.error_reply('WEIRVALUE the key holds what no limiter wrote')
    end
    if at > t then
      local step = k.step
      if id ~= k.id then step = tonumber(string.match(id, ':(%-?%d+)$')) end
      local here = reading(step, t)
      if step >= 0 and w - here > k.bound then
        -- Written by a clock far ahead: what was missing then is missing now.
        w, at = w - reading(step, at) + here, t
        if w < 0 then w = 0 end
      end
    end
    k.old = true -- the value is of the limit at hand, unless it is converted
  elseif k.chain ~= '' then
    id = string.match(k.chain, ' ([%d:%-]+);')
  end
  if id ~= k.id or k.chain ~= '' and at < k.since then
    for s, to in string.gmatch(k.chain, '(%d+) ([%d:%-]+);') do
      s = tonumber(s)
      if s >= at and to ~= id then
        w, r = convert(w, r, id, to, s)
        id = to
      end
    end
    if id ~= k.id then w, r = convert(w, r, id, k.id, math.max(k.since, at)) end
    k.stamp, k.old = stamp, nil
  end
  k.w, k.r, k.at, k.t, k.now = w, r, at, t, reading(k.step, t)
  if ow > 0 or owr > 0 then
    if k.w < k.now then k.w, k.r = k.now, 0 end
    k.w, k.r = add(k.w, k.r, ow, owr, k.d)
    k.dirty = true
  end
  return k
end

-- missing is what the bucket lacks: max(TAT - now, 0).
local function missing(k)
  if k.w < k.now then return 0, 0 end
  return k.w - k.now, k.r
end

local function save(k)
  local v = text(k.w) .. ' ' .. text(k.r) .. ' ' .. text(k.t) .. ' ' .. k.stamp .. ' ' .. k.id
  if k.step < 0 or forever then
    redis.call('SET', k.key, v)
    return
  end
  -- Not forgotten before it is full, nor before a key never seen would be.
  local last = k.w
  if k.chain ~= '' and k.since + k.fw + 1 > last then last = k.since + k.fw + 1 end
  local px = floor((last - k.t) / 1000) + 2
  if k.step > 0 then px = px + math.ceil(k.step / 1000) end
  if op == 'book' then px = px + granted end
  if px < 1000 then px = 1000 end
  redis.call('SET', k.key, v, 'PX', text(px))
end

if op == 'time' then return {1, now} end

local ks = {}
for i = 1, #KEYS do
  local k, err = load(i)
  if not k then return err end
  k.mw, k.mr = missing(k)
  ks[i] = k
end

if op == 'take' or op == 'peek' then
  for _, k in ipairs(ks) do
    local w, r = add(k.mw, k.mr, k.cw, k.cr, k.d)
    if more(w, r, k.fw, k.fr) then ok = 0 end
  end
  if op == 'take' and ok == 1 then
    for _, k in ipairs(ks) do
      k.w, k.r = add(k.now + k.mw, k.mr, k.cw, k.cr, k.d)
      k.dirty = k.dirty or k.cw > 0 or k.cr > 0
    end
  end
elseif op == 'upto' then
  -- As many of n tokens as fit below the room (b, c) above a full bucket. The
  -- cost is that of one token: its doubles, and then from the greatest down.
  local k, n = ks[1], granted
  local aw, ar = add(k.fw, k.fr, tonumber(b), tonumber(c), k.d)
  aw, ar = sub(aw, ar, k.mw, k.mr, k.d)
  granted = 0
  if aw >= 0 then
    local tw, tr, p, at = k.cw, k.cr, 1, {}
    while p <= n and not more(tw, tr, aw, ar) do
      at[#at + 1] = {tw, tr, p}
      tw, tr = add(tw, tr, tw, tr, k.d)
      p = p + p
    end
    local sw, sr = 0, 0
    for i = #at, 1, -1 do
      local a = at[i]
      if granted + a[3] <= n then
        local w, r = add(sw, sr, a[1], a[2], k.d)
        if not more(w, r, aw, ar) then sw, sr, granted = w, r, granted + a[3] end
      end
    end
    if granted > 0 then
      k.vw, k.vr = k.now, 0
      k.w, k.r = add(k.now + k.mw, k.mr, sw, sr, k.d)
      k.dirty = true
    end
  end
  if granted == 0 then ok = 0 end
elseif op == 'book' then
  -- a: for how many ms a schedule is kept that nobody is on, b: how far away the slot may be, c: the lateness made up for.
  local within, late = tonumber(b), tonumber(c)
  for _, k in ipairs(ks) do
    k.vw, k.vr = k.now, 0
    if late > 0 and k.step == 0 and k.w < k.now and k.w >= k.now - late then k.vw, k.vr = k.w, k.r end
    local bw, br = k.w, k.r
    if more(k.vw, k.vr, bw, br) then bw, br = k.vw, k.vr end
    k.ew, k.er = add(bw, br, k.cw, k.cr, k.d)
    local sw, sr = sub(k.ew, k.er, k.fw, k.fr, k.d)
    if more(sw, sr, k.now, 0) then
      if k.step < 0 then
        ok = 0
      else
        if sr > 0 then sw = sw + 1 end
        if k.step > 0 and reading(k.step, sw) < sw then sw = reading(k.step, sw) + k.step end
        if sw - k.t > within then ok = 0 end
        if sw - k.t > delay then delay = sw - k.t end
      end
    end
  end
  if ok == 1 then
    for _, k in ipairs(ks) do
      k.w, k.r = k.ew, k.er
      k.dirty = k.dirty or k.cw > 0 or k.cr > 0
    end
  end
elseif op == 'back' then
  -- a: 1 if all is given. What was taken, v, and end stand where limits have
  -- what a decision needs: b "w r", c "vw vr ew er".
  local k = ks[1]
  -- Not as of before what was decided already.
  if k.old and k.at > k.t then k.t, k.now = k.at, reading(k.step, k.at) end
  local tw, tr = string.match(b, '^(%d+) (%d+)$')
  local vw, vr, ew, er = string.match(c, '^(%d+) (%d+) (%d+) (%d+)$')
  tw, tr, vw, vr, ew, er = tonumber(tw), tonumber(tr), tonumber(vw), tonumber(vr), tonumber(ew), tonumber(er)
  ok = 0
  if k.old and k.stamp == stamp then
    local sw, sr = sub(ew, er, k.fw, k.fr, k.d)
    if more(vw, vr, sw, sr) then sw, sr = vw, vr end
    local before = more(sw, sr, k.now, 0)
    local gw, gr = k.cw, k.cr
    if before and granted == 1 and k.w == ew and k.r == er then
      ok = 1
    elseif not before or granted == 1 then
      local lw, lr = add(k.now, 0, k.fw, k.fr, k.d)
      if not more(k.w, k.r, lw, lr) then
        -- min(a, taken - (now - v), TAT - now)
        local uw, ur = add(tw, tr, vw, vr, k.d)
        uw, ur = sub(uw, ur, k.now, 0, k.d)
        if more(gw, gr, uw, ur) then gw, gr = uw, ur end
        ok = 1
      end
    end
    local rw, rr = sub(k.w, k.r, k.now, 0, k.d)
    if more(gw, gr, rw, rr) then gw, gr = rw, rr end
    if ok == 1 and (gw > 0 or gw == 0 and gr > 0) then
      k.w, k.r = sub(k.w, k.r, gw, gr, k.d)
      k.dirty = true
    else
      ok = 0
    end
  end
elseif op == 'reset' then
  for _, k in ipairs(ks) do
    local w, r = 0, 0
    if k.chain ~= '' then
      local id
      for s, to in string.gmatch(k.chain, '(%d+) ([%d:%-]+);') do
        if id and to ~= id then w, r = convert(w, r, id, to, tonumber(s)) end
        id = to
      end
      if id ~= k.id then w, r = convert(w, r, id, k.id, k.since) end
    end
    if w < k.now or not more(w, r, k.w, k.r) then redis.call('DEL', k.key) end
    k.dirty = false
  end
end

local reply = {ok, now, granted, delay}
for _, k in ipairs(ks) do
  if k.dirty then save(k) end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = k.since, k.mw, k.mr, k.t - k.now
end
if ok == 1 and (op == 'upto' or op == 'book') then
  for _, k in ipairs(ks) do
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = k.vw, k.vr, k.w, k.r, k.stamp
  end
end
return reply
