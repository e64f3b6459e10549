// One scrubber for the clips of a section. Without it each clip has its own controls.
for (const section of document.querySelectorAll('.screening')) {
  const videos = [...section.querySelectorAll('video')];
  const control = section.querySelector('.control');
  const [button, range, told] = control.children;
  const clock = s => `${s.toFixed(1)} s of ${Number(range.max).toFixed(1)} s`;
  const show = playing => {
    button.textContent = playing ? 'Pause' : 'Play';
  };
  const tell = () => { told.textContent = clock(Number(range.value)); range.setAttribute('aria-valuetext', told.textContent); };
  const seek = s => { for (const video of videos) video.currentTime = Math.min(s, video.duration || s); };
  let playing = false;
  const stop = () => { playing = false; show(false); for (const video of videos) video.pause(); };
  const step = () => {
    if (!playing) return;
    const now = videos[0].currentTime;
    range.value = now; tell();
    for (const video of videos) if (Math.abs(video.currentTime - now) > 0.15) video.currentTime = now;
    if (videos[0].ended) stop(); else requestAnimationFrame(step);
  };
  button.addEventListener('click', () => {
    if (playing) { stop(); return; }
    if (videos[0].ended || Number(range.value) >= Number(range.max)) { range.value = 0; seek(0); }
    playing = true; show(true);
    for (const video of videos) video.play().catch(stop);
    requestAnimationFrame(step);
  });
  range.addEventListener('input', () => { stop(); seek(Number(range.value)); tell(); });
  for (const video of videos) video.removeAttribute('controls');
  control.hidden = false;
  tell();
}
